import { z } from "zod";
import { ROWS_PER_PAYLOAD } from "../../../durable-objects/payloads.ts";

/** What the objects have stored, as their tables say. Payloads are named `shard/payload`. */

const batchGroups = z.array(z.object({ shard: z.int(), payload: z.int() }));
const address = z.object({ shard: z.int(), payload: z.int() });

type Address = { shard: number; payload: number };

/** Payloads the Run knows of: queued, in batches, or to be let go. */
export function payloadsOfRun(sql: SqlStorage) {
  const queued = sql.exec<Address>("SELECT shard, payload FROM queued_group").toArray();
  const discards = sql.exec<Address>("SELECT shard, payload FROM discard").toArray();
  const dropped = sql.exec<Address>("SELECT shard, payload FROM dropped_group").toArray();
  const batches = sql
    .exec<{ groups: string }>("SELECT groups FROM batch_part")
    .toArray()
    .flatMap(({ groups }) => batchGroups.parse(JSON.parse(groups)));
  const latest = sql
    .exec<{ latest: string }>("SELECT latest FROM shard WHERE latest IS NOT NULL")
    .toArray()
    .map((row) => address.parse(JSON.parse(row.latest)));
  const known = [...queued, ...discards, ...dropped, ...batches, ...latest];
  return { known: known.map(({ shard, payload }) => `${shard}/${payload}`) };
}

/** Payloads a shard has bytes of, and how many it ever had. */
export function payloadsOfShard(sql: SqlStorage) {
  const stored = sql
    .exec<{ payload: number }>(`SELECT DISTINCT id / ${ROWS_PER_PAYLOAD} AS payload FROM payload_row`)
    .toArray()
    .map(({ payload }) => payload);
  const [counters] = sql.exec<{ next_payload: number }>("SELECT next_payload FROM shard").toArray();
  return { stored, ever: (counters?.next_payload ?? 1) - 1 };
}
