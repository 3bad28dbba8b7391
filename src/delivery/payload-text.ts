import { shardName } from "../../durable-objects/names.ts";
import { isFirstRow, type PayloadAddress } from "../../durable-objects/payloads.ts";
import { retry } from "../../durable-objects/retry.ts";
import { concatenate } from "../wire/body.ts";
import { decodeRow } from "../wire/row-codec.ts";
import { windowsOf } from "./windows.ts";

const COMMA = new TextEncoder().encode(",");

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
  const read = () => {
    const { value: window } = windows.next();
    if (!window) return null;
    const stored = retry(() => env.PAYLOAD_SHARD.getByName(shardName(run, window.shard)).read(window.rows));
    // It is awaited in the next round: a failure until then must not count as unhandled.
    stored.catch(() => undefined);
    return { window, stored };
  };
  let isFirst = true;
  for (let next = read(); next !== null; ) {
    const { window, stored } = next;
    const rows = await stored;
    next = read();
    const parts = rows.flatMap((row, index) => {
      const startsPayload = isFirstRow(window.rows[index] ?? 0) && !(isFirst && index === 0);
      return startsPayload ? [COMMA, decodeRow(row)] : [decodeRow(row)];
    });
    isFirst = false;
    yield concatenate(parts);
  }
}

/** Length of what {@link payloadText} gives, in bytes. */
export function textLength(payloads: readonly PayloadAddress[]): number {
  return payloads.reduce((sum, { bytes }) => sum + bytes, 0) + Math.max(0, payloads.length - 1);
}
