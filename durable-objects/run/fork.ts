import { z } from "zod";
import type { Copied } from "../payloads.ts";
import type { BatchGroup } from "./batches.ts";
import type { RunParts } from "./parts.ts";
import { registration } from "./registration.ts";

/** The side of a fork that is copied: what another run that begins where this one stood at a step has to know. */

export const forkOrigin = z.object({
  /** The run's, with the step as the one to start at. */
  registration,
  /** Groups that are copied at most, and the age of the first that isn't: what comes later stays here alone. */
  groups: z.int(),
  beforeAge: z.int(),
  /** While these stay, groups stay where they are: no batch was formed, and the run wasn't reset. */
  nextBatch: z.int(),
  resets: z.int(),
});
export type ForkOrigin = z.infer<typeof forkOrigin>;

/** A group's place in the order of copying: those of the batches after the step, then the queue's. */
export type ForkPlace = Omit<Copied, "life">;

/** Before every group. */
export const FORK_START: ForkPlace = { batch: 0, place: -1 };

export type FoundOrigin =
  | { readonly status: "no_trainer" }
  /** Some batches after the step are gone: all are there from step `keptFrom` on. */
  | { readonly status: "not_kept"; readonly step: number; readonly keptFrom: number }
  | { readonly status: "found"; readonly origin: ForkOrigin };

/** A group as it is to be copied. */
export type ForkedGroup = BatchGroup & ForkPlace;

export type ForkPage =
  /** Groups have gone elsewhere since the fork began. */
  | { readonly status: "moved" }
  /** The next groups in order; none when all have been copied. */
  | { readonly status: "page"; readonly groups: readonly ForkedGroup[] };

/** Groups of a page: about 1 MB. */
const PAGE = 5_000;

/** What is to be copied of a run. `step` null is now. */
export function findOrigin({ state, batches, queue, shards }: RunParts, step: number | null): FoundOrigin {
  if (state.registration === null) return { status: "no_trainer" };
  const at = step ?? state.step;
  const keptFrom = batches.keptFrom(state.step);
  if (at < keptFrom - 1 || at > state.step) return { status: "not_kept", step: state.step, keptFrom };
  const origin: ForkOrigin = {
    registration: { ...state.registration, starting_step: at },
    groups: batches.groupsAfter(at) + queue.count(),
    beforeAge: shards.nextAge,
    nextBatch: state.nextBatch,
    resets: state.resets,
  };
  return { status: "found", origin };
}

/** The next groups after a place. */
export function forkPage({ state, batches, queue }: RunParts, origin: ForkOrigin, after: ForkPlace): ForkPage {
  const step = origin.registration.starting_step;
  const isGone = batches.keptFrom(state.step) - 1 > step;
  if (isGone || state.nextBatch !== origin.nextBatch || state.resets !== origin.resets) return { status: "moved" };
  const groups: ForkedGroup[] = [];
  if (after.batch !== null) {
    for (const { id, groups: held } of batches.after(step, after.batch)) {
      const first = id === after.batch ? after.place + 1 : 0;
      const rest = held.slice(first, first + PAGE - groups.length);
      groups.push(...rest.map((group, index) => ({ ...group, batch: id, place: first + index })));
      if (groups.length === PAGE) return { status: "page", groups };
    }
  }
  const age = after.batch === null ? after.place : 0;
  const queued = queue.between(age, origin.beforeAge, PAGE - groups.length);
  return {
    status: "page",
    groups: [...groups, ...queued.map((group) => ({ ...group, batch: null, place: group.age }))],
  };
}

/** Whether one place comes after another. */
export function isAfter(a: ForkPlace, b: ForkPlace): boolean {
  const batch = (place: ForkPlace) => place.batch ?? Number.POSITIVE_INFINITY;
  return batch(a) > batch(b) || (batch(a) === batch(b) && a.place > b.place);
}
