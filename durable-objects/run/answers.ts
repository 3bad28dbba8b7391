import type { Batch } from "./batches.ts";
import type { Delivery } from "./delivery.ts";
import type { EnvironmentStatus } from "./environment-status.ts";
import type { Explanation } from "./explain.ts";
import type { Registration } from "./registration.ts";
import type { Rollouts } from "./rollouts/rollouts.ts";
import type { TrainerReport } from "./state.ts";
import type { Stall } from "./watchdog.ts";

/** What a trainer that asks for a batch gets. `delivery` must live as long as the batch is being streamed. */
export type TakenBatch =
  | { readonly status: "unregistered" }
  | { readonly status: "none" }
  | { readonly status: "batch"; readonly batch: Batch; readonly delivery: Delivery };

/** What a trainer says when it acknowledges a batch. */
export interface TrainerAck {
  /** Its own. */
  readonly step: number | null;
  readonly metrics: Readonly<Record<string, number>>;
  /** As it calls itself, or null. */
  readonly trainer: string | null;
  /** The hold that it was told of with the batch, or null. */
  readonly hold: number | null;
}

export type Registered =
  /** `ignored`: the settings in which it differs from the run, in words. */
  | { readonly status: "registered"; readonly ignored: readonly string[] }
  /** The run is being made a copy of another one, and has no settings of its own until that is done. */
  | { readonly status: "forking"; readonly from: string }
  /** It resumes from a step the run hasn't come to: it is at `step`, or begins there. */
  | { readonly status: "ahead"; readonly step: number; readonly hasBegun: boolean }
  /** Some batches after the step it resumes from are gone: all are there from step `keptFrom` on. */
  | { readonly status: "not_kept"; readonly step: number; readonly keptFrom: number };

/** Why a batch isn't its trainer's to acknowledge. */
export type HoldRefusal =
  /** Somebody else has got the batch since; null: a trainer without a name, or one whose hold is over too. */
  | { readonly status: "held"; readonly holder: string | null }
  /** A rewind has opened it, and nobody has got it since. */
  | { readonly status: "rewound" };

/** What an ack or a release did. */
export type BatchChange =
  | HoldRefusal
  | { readonly status: "changed"; readonly repeated: boolean }
  /** No batch has that id: `last` is the highest there is. */
  | { readonly status: "unknown"; readonly last: number };

export type RegisteredEnvironment =
  | { readonly status: "no_trainer" }
  | { readonly status: "too_many"; readonly limit: number }
  | {
      readonly status: "registered";
      readonly id: number;
      readonly wandbName: string;
      readonly registration: Registration;
      readonly step: number;
    };

/** Which environment asks: by id, else by the label of its path, else the only one there is. */
export interface WhichEnvironment {
  readonly id: number | null;
  readonly label: string | null;
}

export type FoundEnvironmentStatus =
  | { readonly status: "found"; readonly environment: EnvironmentStatus }
  | { readonly status: "unknown"; readonly id: number; readonly registered: number }
  | { readonly status: "unknown_label"; readonly label: string }
  | { readonly status: "ambiguous"; readonly connected: number };

export interface RunStatus {
  readonly step: number;
  /** In groups. */
  readonly queueSize: number;
}

export interface RunOverview extends RunStatus {
  readonly explain: Explanation;
  readonly queuedBytes: number;
  /** Of the Run's object alone. */
  readonly disk: { readonly bytes: number; readonly limit: number };
  /** Groups ever taken. */
  readonly receivedGroups: number;
  readonly environments: { readonly registered: number; readonly connected: number; readonly alive: number };
  readonly openBatches: number;
  /** Of those, the ones a trainer holds under a lease. */
  readonly leasedBatches: number;
  readonly trainer: TrainerReport | null;
  readonly policyVersion: number;
  readonly admission: ReturnType<Rollouts["admission"]>;
  readonly waitingTrainers: number;
  /** Null unless trainers have asked in vain for long. */
  readonly watchdog: Stall | null;
}
