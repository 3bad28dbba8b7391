import type { Batch } from "./batches.ts";
import type { Delivery } from "./delivery.ts";
import type { EnvironmentStatus } from "./environment-status.ts";
import type { Explanation } from "./explain.ts";
import type { Registration } from "./registration.ts";
import type { Rollouts } from "./rollouts/rollouts.ts";
import type { TrainerReport } from "./state.ts";

/** What a trainer that asks for a batch gets. `delivery` must live as long as the batch is being streamed. */
export type TakenBatch =
  | { readonly status: "unregistered" }
  | { readonly status: "none" }
  | { readonly status: "batch"; readonly batch: Batch; readonly delivery: Delivery };

/** What an ack or a release did. */
export type BatchChange =
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
}
