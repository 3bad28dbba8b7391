/** @param signal of the invocation that asks: it ends when that one is over, and with it everything it has under way */
export type Remember<T> = (
  key: string,
  load: (signal: AbortSignal) => Promise<T>,
  invocation: AbortSignal,
) => Promise<T>;

/**
 * Keeps what was loaded last, as long as the isolate lives; for data sets and tokenizers, which are too large to load for
 * every group. Only what is there is kept from invocation to invocation, never a promise: one whose invocation has ended
 * never settles, and whoever waited for it would wait for ever. Until then each invocation loads for itself, once for all
 * of its groups. A load that failed is tried again.
 * What it gives throws TypeError when the invocation's signal is missing.
 */
export function remember<T>(): Remember<T> {
  let kept: { readonly key: string; readonly value: T } | undefined;
  const underWay = new WeakMap<AbortSignal, Map<string, Promise<T>>>();
  return async (key, load, invocation) => {
    if (kept?.key === key) return kept.value;
    // Without a type check nothing else says that it is missing.
    if (!(invocation instanceof AbortSignal)) throw new TypeError("pass context.invocation as the third argument");
    const own = underWay.get(invocation) ?? new Map<string, Promise<T>>();
    underWay.set(invocation, own);
    const loading =
      own.get(key) ??
      load(invocation).then((value) => {
        kept = { key, value };
        return value;
      });
    own.set(key, loading);
    return loading.finally(() => own.delete(key));
  };
}
