import { parseNumber } from "./number.ts";

/**
 * Whether two integers are the same, or |a − b| ≤ tolerance · max(1, |a|, |b|) where one is none: absolute below 1, relative
 * above. An integer is known exactly, so another one is another answer, however large both are. False when one is not finite.
 */
export function numbersEqual(a: number, b: number, tolerance = 1e-6): boolean {
  if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
  if (Number.isInteger(a) && Number.isInteger(b)) return a === b;
  return Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(a), Math.abs(b));
}

/** Whether two answers say the same: the same number, or else the same words (case, spaces and LaTeX text marks aside). */
export function answersEqual(given: string, expected: string | number, tolerance = 1e-6): boolean {
  const number = typeof expected === "number" ? expected : parseNumber(expected);
  if (number !== null) {
    const value = parseNumber(given);
    return value !== null && numbersEqual(value, number, tolerance);
  }
  return words(given) === words(String(expected));
}

function words(text: string): string {
  return text
    .replace(/\\(?:text|mathrm|textbf|mathbf)\s*\{([^{}]*)\}/g, "$1")
    .replace(/\\[,!;: ]|\$/g, " ")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/\.$/, "")
    .toLowerCase();
}
