import { shardName } from "../../durable-objects/names.ts";
import { type Envelope, type PayloadAddress, ROW_BYTES, rowId } from "../../durable-objects/payloads.ts";
import { diskFull } from "./submission.ts";

/** A group of the run that is forked. */
interface ForkedGroup extends PayloadAddress {
  readonly age: number;
  readonly environment: number | null;
  readonly sequences: number;
  readonly policyVersion: number;
}

/**
 * Copies groups of one run to the queue of another, in order, row by row as they are stored. A group that was copied
 * before, by a call that broke off, isn't copied again.
 * @throws when a payload is gone meanwhile.
 */
export async function copyGroups(
  env: Env,
  source: string,
  target: string,
  shards: number,
  groups: readonly ForkedGroup[],
): Promise<void> {
  for (const group of groups) {
    const to = env.PAYLOAD_SHARD.getByName(shardName(target, group.age % shards));
    const envelope: Envelope = {
      environment: group.environment,
      sequences: group.sequences,
      policyVersion: group.policyVersion,
      // It passed the source's filters, and the target has none yet.
      ...{ tokens: 0, longest: 0, scores: { mean: 0, min: 0, max: 0 }, lease: null },
      key: `k:fork:${source}:${group.age}`,
    };
    const row = (number: number) => readRow(env, source, group, number);
    if (group.rows === 1) {
      await to.submit([{ ...envelope, row: await row(0), bytes: group.bytes }]);
      continue;
    }
    using upload = await to.openUpload();
    if (upload === null) throw diskFull();
    for (let number = 0; number < group.rows; number++) {
      const textLength = Math.min(ROW_BYTES, group.bytes - number * ROW_BYTES);
      await upload.append([{ kind: "row", row: await row(number), textLength }]);
    }
    await upload.append([{ kind: "end", envelope }]);
    await upload.commit();
  }
}

async function readRow(env: Env, run: string, { shard, payload }: PayloadAddress, row: number): Promise<Uint8Array> {
  const [bytes] = await env.PAYLOAD_SHARD.getByName(shardName(run, shard)).read([rowId(payload, row)]);
  if (bytes === undefined) throw new Error(`payload ${payload} of shard ${shard} has no row ${row}`);
  return bytes;
}
