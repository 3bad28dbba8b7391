export { lastBoxed } from "./boxed.ts";
export { answersEqual, numbersEqual } from "./equal.ts";
export { ANSWER_SOURCES, type AnswerOptions, type AnswerSource, finalAnswer } from "./final-answer.ts";
export { finalNumber } from "./final-number.ts";
export { parseNumber } from "./number.ts";
export { referenceAnswer } from "./reference.ts";
export { thinkingOpened } from "./settings.ts";
export { type Tagged, tagged } from "./tagged.ts";
export { type SplitText, splitThinking } from "./thinking.ts";
