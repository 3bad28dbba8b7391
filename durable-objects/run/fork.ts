import type { BatchGroup } from "./batches.ts";
import type { RunParts } from "./parts.ts";
import type { Registration } from "./registration.ts";

/** What another run that begins where this one stood at a step needs to know, a page of its groups at a time. */
export type ForkPage =
  | { readonly status: "no_trainer" }
  /** Some batches after the step are gone: all are there from step `keptFrom` on. */
  | { readonly status: "not_kept"; readonly step: number; readonly keptFrom: number }
  | {
      readonly status: "page";
      readonly registration: Registration;
      /** In the order in which they are to be queued: those of the batches after the step, then the queue's. */
      readonly groups: readonly BatchGroup[];
      readonly more: boolean;
    };

/** Groups of a page: about 1 MB. */
const PAGE = 5_000;

/** The groups a run had before it at a step. `step` null is now. */
export function forkPage({ state, batches, queue }: RunParts, step: number | null, from: number): ForkPage {
  if (state.registration === null) return { status: "no_trainer" };
  const at = step ?? state.step;
  const keptFrom = batches.keptFrom(state.step);
  if (at < keptFrom - 1 || at > state.step) return { status: "not_kept", step: state.step, keptFrom };
  const groups = [...batches.groupsAfter(at), ...queue.all()];
  const registration = { ...state.registration, starting_step: at };
  return { status: "page", registration, groups: groups.slice(from, from + PAGE), more: groups.length > from + PAGE };
}
