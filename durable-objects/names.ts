/**
 * How objects are named: a Run by its run's name, a PayloadShard by run and number. Run names hold no slash, so the two can
 * be told apart.
 */
export function shardName(run: string, shard: number): string {
  return `${run}/${shard}`;
}

/** @throws when the id wasn't made from a name, which Lachesis never does. */
export function nameOf(id: DurableObjectId): string {
  if (id.name === undefined) throw new Error(`object ${id.toString()} was not reached by name`);
  return id.name;
}

/** The run and number of a shard, from its own id. */
export function shardOf(id: DurableObjectId): { run: string; shard: number } {
  const name = nameOf(id);
  const slash = name.lastIndexOf("/");
  return { run: name.slice(0, slash), shard: Number(name.slice(slash + 1)) };
}
