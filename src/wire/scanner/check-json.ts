import { encode } from "./bytes.ts";
import { Machine } from "./machine.ts";
import { ANY } from "./shapes.ts";
import type { GroupSink, ScanError } from "./types.ts";

const NO_SINK: GroupSink = { groupStart() {}, write() {}, groupEnd() {} };

/**
 * Why `text` is not JSON, as FastAPI would report it (its position counts characters), or null when it is. Where Python's
 * NaN or Infinity stands, the error is `finite_number` and names the place. For the small bodies of other routes:
 * `JSON.parse` first, this when it throws.
 */
export function checkJson(text: string): ScanError | null {
  const machine = new Machine(ANY, NO_SINK, { maxErrors: 1 });
  machine.push(encode(text));
  machine.end();
  return machine.log.errors[0] ?? null;
}
