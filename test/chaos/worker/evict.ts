/** Ends an object as the platform may at any moment: all it has in memory is gone, all its callers hear an error. */
export function evict(ctx: DurableObjectState, what: string): never {
  note(`evict_${what}`);
  ctx.abort(`the campaign evicted this ${what}`);
  throw new Error("an object that was evicted goes on");
}

/** Tells the campaign of a fault, by name. Counts in memory would be gone with the process. */
export function note(fault: string): void {
  console.log(`chaos ${fault}`);
}
