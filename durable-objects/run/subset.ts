/**
 * Indices of sizes that add up to exactly `target`, or null if none do. Earlier ones are preferred. O(sizes · target); the
 * caller's sizes add up to less than twice the target.
 */
export function subsetOfSize(sizes: readonly number[], target: number): number[] | null {
  // reachable[i] = the sums that sizes i, i + 1, … can make.
  const reachable: Set<number>[] = Array.from({ length: sizes.length + 1 }, () => new Set([0]));
  for (let i = sizes.length - 1; i >= 0; i--) {
    const size = sizes[i] ?? 0;
    const later = reachable[i + 1] ?? new Set<number>();
    reachable[i] = new Set([...later, ...[...later].map((sum) => sum + size).filter((sum) => sum <= target)]);
  }
  if (!reachable[0]?.has(target)) return null;
  const chosen: number[] = [];
  let left = target;
  for (const [i, size] of sizes.entries()) {
    if (left > 0 && reachable[i + 1]?.has(left - size)) {
      chosen.push(i);
      left -= size;
    }
  }
  return chosen;
}
