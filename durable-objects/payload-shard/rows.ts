import { ROWS_PER_PAYLOAD, rowId, type StoredPayload } from "../payloads.ts";

const COMMA = 0x2c;

/** Stores one row of a payload. */
export function writeRow(sql: SqlStorage, payload: number, row: number, bytes: Uint8Array): void {
  if (row >= ROWS_PER_PAYLOAD) throw new RangeError(`payload ${payload} has more than ${ROWS_PER_PAYLOAD} rows`);
  sql.exec("INSERT INTO payload_row (id, bytes) VALUES (?, ?)", rowId(payload, row), bytes);
}

/**
 * The rows' bytes, joined. Each payload's first row is preceded by a comma, because readers join payloads into a JSON list.
 * @throws when a row is gone: its run was reset, or its batch was delivered and let go.
 */
export function readRows(sql: SqlStorage, ids: readonly number[]): Uint8Array {
  const rows: Uint8Array[] = [];
  let length = 0;
  for (const id of ids) {
    const found = sql.exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM payload_row WHERE id = ?", id).toArray()[0];
    if (found === undefined) throw new Error(`payload ${Math.floor(id / ROWS_PER_PAYLOAD)} is no longer stored`);
    if (id % ROWS_PER_PAYLOAD === 0) length += 1;
    const row = new Uint8Array(found.bytes);
    rows.push(row);
    length += row.length;
  }
  const joined = new Uint8Array(length);
  let at = 0;
  for (const [index, row] of rows.entries()) {
    if ((ids[index] ?? 0) % ROWS_PER_PAYLOAD === 0) joined[at++] = COMMA;
    joined.set(row, at);
    at += row.length;
  }
  return joined;
}

/** Deletes payloads. Deleting one that is gone changes nothing. */
export function deletePayloads(sql: SqlStorage, payloads: readonly Pick<StoredPayload, "payload">[]): void {
  for (const { payload } of payloads) {
    sql.exec("DELETE FROM payload_row WHERE id >= ? AND id < ?", rowId(payload, 0), rowId(payload + 1, 0));
  }
}
