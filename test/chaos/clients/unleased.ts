import { z } from "zod";
import { pause } from "../random.ts";
import { MAX_STALENESS } from "../scene.ts";
import type { EnvironmentClient } from "./client.ts";
import { FILTERED_SHARE, makeGroup } from "./groups.ts";
import { Repeats } from "./repeats.ts";

const status = z.object({ current_step: z.int(), self_queue_size: z.int() });

/** Sequences of so many tokens make a group longer than one row: it goes the way of large bodies. So many groups do. */
const LONG_TOKENS = 25_000;
const LONG_SHARE = 0.04;

/**
 * Hands in groups at its own pace, as Atropos environments do: as long as few of its own are queued. With a key each is in
 * exactly one batch; without one, at least in one, and in exactly one of a run that tells requests by their contents.
 */
export async function submitUnleased(client: EnvironmentClient): Promise<void> {
  const { wire, environment, scene, isOn } = client;
  const repeats = new Repeats(wire);
  for (let number = 0; isOn(); ) {
    const heard = await wire.ask("GET", `/status-env?env_id=${environment}`);
    const known = heard?.status === 200 ? status.parse(JSON.parse(heard.body)) : null;
    if (known === null || known.self_queue_size >= scene.queueTarget) {
      await pause(wire.random.between(30, 150));
      continue;
    }
    await submit(client, repeats, number++, known.current_step);
  }
  if (scene.way !== "plain" || client.deduplicates) await repeats.again();
}

async function submit(
  { wire, environment, scene, deduplicates }: EnvironmentClient,
  repeats: Repeats,
  number: number,
  step: number,
): Promise<void> {
  const { random, client, recorder } = wire;
  const isKeyed = scene.way !== "plain";
  const isList = scene.way === "keyed_list";
  const groups = Array.from({ length: isList ? random.integer(1, 3) : 1 }, (_, index) =>
    makeGroup({
      id: `${client}/${number}/${index}`,
      environment,
      sequences: sizeOf(scene.way, scene.groupSize, random.next()),
      tokens: isKeyed || random.next() > LONG_SHARE ? scene.tokens : LONG_TOKENS,
      policyVersion: isKeyed ? versionAt(step, random.next()) : null,
      saysVersion: isKeyed,
      isFiltered: isKeyed && random.chance(FILTERED_SHARE),
    }),
  );
  const key = `${client}/${number}`;
  const unnamed = deduplicates ? `contents ${key}` : null;
  const serial = recorder.submit({
    client,
    environment,
    identity: isKeyed ? `key ${key}` : unnamed,
    groups: groups.map(({ sent }) => sent),
  });
  const bodies = groups.map(({ body }) => body);
  await repeats.submit(isList ? "/scored_data_list" : "/scored_data", {
    body: isList ? bodies : bodies[0],
    headers: isKeyed ? { "idempotency-key": key } : {},
    serial,
  });
}

/** Plain groups are halves now and then, which are buffered until two have come. */
function sizeOf(way: EnvironmentClient["scene"]["way"], groupSize: number, draw: number): number {
  return way === "plain" && draw < 0.3 ? groupSize / 2 : groupSize;
}

/** A little behind the step; now and then so far that the group is dropped. */
function versionAt(step: number, draw: number): number {
  const behind = draw < 0.04 ? MAX_STALENESS + 2 : Math.floor(draw * 3);
  return Math.max(0, step - behind);
}
