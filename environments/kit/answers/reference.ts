import { lastBoxed } from "./boxed.ts";

/** The answer a data set's solution ends in: what follows its last `####` (as in GSM8K), its box, or all of it. */
export function referenceAnswer(solution: string | number): string | number {
  if (typeof solution === "number") return solution;
  const mark = solution.lastIndexOf("####");
  if (mark !== -1) return solution.slice(mark + 4).trim();
  return lastBoxed(solution) ?? solution.trim();
}
