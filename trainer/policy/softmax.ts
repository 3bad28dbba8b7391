/** Turns one row of logits into logprobs, in place. */
export function logSoftmax(logits: Float64Array, at: number, width: number): void {
  let top = Number.NEGATIVE_INFINITY;
  for (let i = at; i < at + width; i++) top = Math.max(top, logits[i] ?? 0);
  let sum = 0;
  for (let i = at; i < at + width; i++) sum += Math.exp((logits[i] ?? 0) - top);
  const logSum = top + Math.log(sum);
  for (let i = at; i < at + width; i++) logits[i] = (logits[i] ?? 0) - logSum;
}
