/** @throws on an empty list */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new Error("median of no values");
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const [low, high] = [sorted[(sorted.length - 1) >> 1] as number, sorted[middle] as number];
  return (low + high) / 2;
}

/** Median of `ours[i] / theirs[i]`: a round's two halves follow each other, so they share what else the machine does. */
export function medianRatio(ours: readonly number[], theirs: readonly number[]): number {
  return median(ours.slice(0, theirs.length).map((value, i) => value / (theirs[i] as number)));
}
