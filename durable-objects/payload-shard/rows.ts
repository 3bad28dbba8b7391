import { ROW_BYTES, ROWS_PER_PAYLOAD, rowId, type StoredPayload } from "../payloads.ts";

/**
 * Stores one row of a payload.
 * @throws RangeError for a row that production would refuse, local or not.
 */
export function writeRow(sql: SqlStorage, payload: number, row: number, bytes: Uint8Array): void {
  if (row >= ROWS_PER_PAYLOAD) throw new RangeError(`payload ${payload} has more than ${ROWS_PER_PAYLOAD} rows`);
  if (bytes.length > ROW_BYTES) throw new RangeError(`a row of ${bytes.length} bytes is longer than ${ROW_BYTES}`);
  sql.exec("INSERT INTO payload_row (id, bytes) VALUES (?, ?)", rowId(payload, row), bytes);
}

/**
 * Stored rows, in the order asked for.
 * @throws when a row is gone: its run was reset, or its batch was delivered and let go.
 */
export function readRows(sql: SqlStorage, ids: readonly number[]): Uint8Array[] {
  return ids.map((id) => {
    const row = sql.exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM payload_row WHERE id = ?", id).toArray()[0];
    if (row === undefined) throw new Error(`payload ${Math.floor(id / ROWS_PER_PAYLOAD)} is no longer stored`);
    return new Uint8Array(row.bytes);
  });
}

/** Deletes payloads. Deleting one that is gone changes nothing. */
export function deletePayloads(sql: SqlStorage, payloads: readonly Pick<StoredPayload, "payload">[]): void {
  for (const { payload } of payloads) {
    sql.exec("DELETE FROM payload_row WHERE id >= ? AND id < ?", rowId(payload, 0), rowId(payload + 1, 0));
    sql.exec("DELETE FROM upload WHERE payload = ?", payload);
  }
}
