import { shardName } from "../../durable-objects/names.ts";
import type { PayloadAddress } from "../../durable-objects/payloads.ts";
import { retry } from "../../durable-objects/retry.ts";
import { windowsOf } from "./windows.ts";

/**
 * The text of payloads, joined with commas, piece by piece. While one piece is being sent the next is read, so about two
 * rows are held at a time.
 */
export async function* payloadText(
  env: Env,
  run: string,
  payloads: readonly PayloadAddress[],
): AsyncGenerator<Uint8Array> {
  const windows = windowsOf(payloads);
  const read = (): Promise<Uint8Array> | null => {
    const { value: window } = windows.next();
    if (!window) return null;
    const text = retry(() => env.PAYLOAD_SHARD.getByName(shardName(run, window.shard)).read(window.rows));
    // It is awaited in the next round: a failure until then must not count as unhandled.
    text.catch(() => undefined);
    return text;
  };
  let isFirst = true;
  for (let next = read(); next !== null; ) {
    const text = await next;
    next = read();
    // Every payload comes with a comma before it.
    yield isFirst ? text.subarray(1) : text;
    isFirst = false;
  }
}

/** Length of what {@link payloadText} gives, in bytes. */
export function textLength(payloads: readonly PayloadAddress[]): number {
  return payloads.reduce((sum, { bytes }) => sum + bytes, 0) + Math.max(0, payloads.length - 1);
}
