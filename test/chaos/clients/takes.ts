import { z } from "zod";
import { BATCH_LEASE_SECONDS } from "../scene.ts";
import type { Heard, Wire } from "./wire.ts";

/** A batch that a trainer has all of. */
export interface Taken {
  readonly id: number;
  readonly step: number;
  readonly hold: number;
}

const body = z.object({ batch: z.array(z.unknown()).nullable() });

/** Takes a batch under a lease. Null when there was none, or its answer was lost. */
export async function takeWhole(wire: Wire, wait: number): Promise<Taken | null> {
  return taken(await wire.ask("GET", `/batch?${query(wire, wait)}`));
}

/**
 * Each rank takes its slice. When one of them gets none, or that of another batch as its answer was lost before, all of them
 * are given back.
 */
export async function takeInSlices(wire: Wire, ranks: number, wait: number): Promise<Taken | null> {
  const asked = Array.from({ length: ranks }, (_, rank) =>
    wire.ask("GET", `/batch?${query(wire, wait)}&rank=${rank}&world_size=${ranks}`),
  );
  const slices = (await Promise.all(asked)).map(taken);
  const [first] = slices;
  if (first != null && slices.every((slice) => slice?.id === first.id)) return first;
  for (const id of new Set(slices.flatMap((slice) => slice?.id ?? []))) await giveBack(wire, id);
  return null;
}

export async function giveBack(wire: Wire, id: number): Promise<void> {
  wire.recorder.releasing(id);
  await wire.insist("POST", `/batches/${id}/release`, { body: { trainer: wire.client } });
}

function query(wire: Wire, wait: number): string {
  return `lease=${BATCH_LEASE_SECONDS}&wait=${wait}&trainer=${wire.client}`;
}

function taken(heard: Heard | null): Taken | null {
  if (heard?.status !== 200 || body.parse(JSON.parse(heard.body)).batch === null) return null;
  const number = (name: string) => Number(heard.headers.get(`lachesis-${name}`));
  return { id: number("batch"), step: number("step"), hold: number("hold") };
}
