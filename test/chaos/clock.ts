/** Counts events. Every reading is later than all before. */
export type Clock = () => number;

export function startClock(): Clock {
  let now = 0;
  return () => ++now;
}
