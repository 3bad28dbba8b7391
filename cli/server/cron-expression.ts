/** The fields of an expression, as Cloudflare reads them: minute, hour, day of month, month, day of week (1 is Sunday). */
const FIELDS = [
  { name: "minute", min: 0, max: 59, of: (date: Date) => date.getUTCMinutes() },
  { name: "hour", min: 0, max: 23, of: (date: Date) => date.getUTCHours() },
  { name: "day of month", min: 1, max: 31, of: (date: Date) => date.getUTCDate() },
  { name: "month", min: 1, max: 12, of: (date: Date) => date.getUTCMonth() + 1 },
  { name: "day of week", min: 1, max: 7, of: (date: Date) => date.getUTCDay() + 1 },
] as const;

/**
 * Reads a cron expression of numbers, lists, ranges and steps.
 * @returns whether it names the minute of a date, in UTC.
 * @throws Error that names the field which can't be read; names of days and months and `L`, `W`, `#` can't.
 */
export function cronMatcher(expression: string): (date: Date) => boolean {
  const parts = expression.trim().split(/\s+/);
  if (parts.length !== FIELDS.length) throw new Error(`the cron ${JSON.stringify(expression)} has not five fields`);
  const sets = FIELDS.map((field, index) => {
    const part = parts[index] ?? "";
    const values = part.split(",").flatMap((item) => valuesOf(item, field.min, field.max));
    if (values.includes(Number.NaN)) {
      throw new Error(
        `the ${field.name} ${JSON.stringify(part)} of the cron ${JSON.stringify(expression)} can't be read`,
      );
    }
    return new Set(values);
  });
  return (date) => FIELDS.every((field, index) => sets[index]?.has(field.of(date)));
}

/** `*`, `5`, `5-10`, any of them with `/step`. */
function valuesOf(item: string, min: number, max: number): number[] {
  const match = /^(?:\*|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/.exec(item);
  const step = Number(match?.[3] ?? 1);
  const from = Number(match?.[1] ?? min);
  const to = Number(match?.[2] ?? (match?.[1] !== undefined && match[3] === undefined ? from : max));
  if (match === null || step === 0 || from < min || to > max || to < from) return [Number.NaN];
  return Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
}
