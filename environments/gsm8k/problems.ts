import { Random } from "../kit/random.ts";
import type { Gsm8kItem } from "./item.ts";
import { NAMES, STORIES, type Story, THINGS } from "./stories.ts";
import { tinyProblem } from "./tiny-problem.ts";
import { type Operator, working } from "./working.ts";

export interface ProblemSettings {
  readonly difficulty: "tiny" | "grade_school";
  /** Bounds every number of a problem, its answer included; null for the difficulty's own bound. */
  readonly largest_number: number | null;
  /** Least and most steps. */
  readonly steps: readonly [number, number];
  readonly seed: number;
}

/** Held-out items come from a stream of their own. */
export type Split = "train" | "evaluation";

const LARGEST = { tiny: 9, grade_school: 200 };

/** Operands larger than these make sentences that nobody would say. */
const MOST_OPENED = 12;
const MOST_TIMES = 5;
const SHARES = [2, 3, 4, 5, 6, 7, 8];

/** Item `index` of the endless series that seed and settings name: the same everywhere. All its numbers are whole and positive. */
export function problemAt(index: number, settings: ProblemSettings, split: Split = "train"): Gsm8kItem {
  const { difficulty, seed, steps } = settings;
  const largest = settings.largest_number ?? LARGEST[difficulty];
  const random = Random.of("gsm8k", split, difficulty, seed, index);
  if (difficulty === "tiny") return tinyProblem(random, largest);
  return tell(random, random.pick(STORIES), random.int(...steps), largest);
}

interface Step {
  readonly operator: Operator;
  readonly operand: number;
  readonly value: number;
}

function tell(random: Random, story: Story, steps: number, largest: number): Gsm8kItem {
  const [name = "", friend = ""] = random.shuffle(NAMES);
  const words = { name, friend, things: random.pick(THINGS) };
  const product = story.opensWith === "product";
  const a = product ? random.int(2, Math.min(MOST_OPENED, Math.floor(largest / 2))) : random.int(2, largest);
  const b = product ? random.int(2, Math.floor(largest / a)) : 1;
  const sentences = [fill(story.opening, { ...words, a, b })];
  const workings = product ? [working(a, "*", b)] : [];
  let value = a * b;
  while (workings.length < steps) {
    const step = random.pick(possibleSteps(random, story, value, largest));
    sentences.push(fill(random.pick(story.changes[step.operator] ?? []), { ...words, a: step.operand, b: 0 }));
    workings.push(working(value, step.operator, step.operand));
    value = step.value;
  }
  sentences.push(fill(story.question, { ...words, a: 0, b: 0 }));
  return { question: sentences.join(" "), answer: [...workings, `#### ${value}`].join("\n"), value };
}

/** One step of each operator that keeps the value whole and from 2 to `largest`. There is always one, for largest ≥ 6. */
function possibleSteps(random: Random, story: Story, value: number, largest: number): Step[] {
  const steps: Step[] = [];
  const offer = (operator: Operator, operand: number | null, result: (operand: number) => number) => {
    if (operand !== null && story.changes[operator]) steps.push({ operator, operand, value: result(operand) });
  };
  const between = (low: number, high: number) => (low <= high ? random.int(low, high) : null);
  const shares = SHARES.filter((share) => value % share === 0 && value / share >= 2);
  offer("+", between(2, largest - value), (operand) => value + operand);
  offer("-", between(2, value - 2), (operand) => value - operand);
  offer("*", between(2, Math.min(MOST_TIMES, Math.floor(largest / value))), (operand) => value * operand);
  offer("/", shares.length === 0 ? null : random.pick(shares), (operand) => value / operand);
  return steps;
}

function fill(sentence: string, gaps: Readonly<Record<string, string | number>>): string {
  return sentence.replace(/\{(\$?)(\w+)\}/g, (_, currency: string, gap: string) => `${currency}${gaps[gap]}`);
}
