/** Splits a list into parts of at most `limit` by `sizeOf` each; an item that is larger is a part of its own. */
export function* splitBy<T>(items: readonly T[], limit: number, sizeOf: (item: T) => number): Generator<readonly T[]> {
  let part: T[] = [];
  let size = 0;
  for (const item of items) {
    if (part.length > 0 && size + sizeOf(item) > limit) {
      yield part;
      part = [];
      size = 0;
    }
    part.push(item);
    size += sizeOf(item);
  }
  if (part.length > 0) yield part;
}
