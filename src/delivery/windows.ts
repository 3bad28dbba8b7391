import type { PayloadAddress } from "../../durable-objects/payloads.ts";
import { ROW_BYTES, rowId } from "../../durable-objects/payloads.ts";

/** Rows of one shard that are read with one call. */
export interface Window {
  readonly shard: number;
  readonly rows: readonly number[];
}

/** Text read with one call, at most: a few small payloads together, or one row of a large one. */
const WINDOW_BYTES = ROW_BYTES;

/** How to read payloads in order: neighbours in one shard share a call. */
export function* windowsOf(payloads: Iterable<PayloadAddress>): Generator<Window> {
  let rows: number[] = [];
  let shard = -1;
  let bytes = 0;
  for (const { payload, shard: itsShard, rows: count, bytes: length } of payloads) {
    for (let row = 0; row < count; row++) {
      const rowLength = Math.min(ROW_BYTES, length - row * ROW_BYTES);
      if (rows.length > 0 && (itsShard !== shard || bytes + rowLength > WINDOW_BYTES)) {
        yield { shard, rows };
        rows = [];
        bytes = 0;
      }
      shard = itsShard;
      rows.push(rowId(payload, row));
      bytes += rowLength;
    }
  }
  if (rows.length > 0) yield { shard, rows };
}
