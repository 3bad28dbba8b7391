/**
 * Which shard of its run a request goes to. One Worker instance stays with one shard for a slice of time, so that its
 * requests share commits there, and moves on with the next slice, so that all shards fill alike; instances are staggered.
 */
const SLICE_MS = 250;

const stagger = Math.floor(Math.random() * 1024);

/** A shard number below `shards`. */
export function chooseShard(shards: number, now: number): number {
  return (Math.floor(now / SLICE_MS) + stagger) % shards;
}
