/**
 * The part of a batch that a rank gets: neighbouring groups, so that the ranks' parts joined in order are the batch. A group
 * goes to the rank in whose share of the sequences it begins, so equal groups that divide evenly give equal parts.
 */
export function sliceOf<G extends { readonly sequences: number }>(
  groups: readonly G[],
  rank: number,
  worldSize: number,
): G[] {
  const total = groups.reduce((sum, { sequences }) => sum + sequences, 0);
  let before = 0;
  return groups.filter(({ sequences }) => {
    const owner = Math.floor((before * worldSize) / total);
    before += sequences;
    return owner === rank;
  });
}
