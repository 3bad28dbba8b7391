/** Which queued groups were generated with which policy version, so that stale ones are found without walking the queue. */
export class PolicyVersions {
  readonly #ages = new Map<number, Set<number>>();
  #oldest = Number.POSITIVE_INFINITY;

  add(version: number, age: number): void {
    const ages = this.#ages.get(version);
    if (ages === undefined) this.#ages.set(version, new Set([age]));
    else ages.add(age);
    this.#oldest = Math.min(this.#oldest, version);
  }

  remove(version: number, age: number): void {
    const ages = this.#ages.get(version);
    ages?.delete(age);
    if (ages?.size !== 0) return;
    this.#ages.delete(version);
    if (version === this.#oldest) {
      this.#oldest = Number.POSITIVE_INFINITY;
      for (const other of this.#ages.keys()) this.#oldest = Math.min(this.#oldest, other);
    }
  }

  /** Ages of the groups of an older version, oldest first. Costs nothing while there are none. */
  below(version: number): number[] {
    if (version <= this.#oldest) return [];
    return [...this.#ages]
      .filter(([other]) => other < version)
      .flatMap(([, ages]) => [...ages])
      .toSorted((a, b) => a - b);
  }
}
