import type { Registered, RegisteredEnvironment } from "./answers.ts";
import { MAX_ENVIRONMENTS, type NewEnvironment } from "./environments.ts";
import type { ForkOrigin } from "./fork.ts";
import type { Fork } from "./fork-progress.ts";
import type { RunParts } from "./parts.ts";
import { ignoredSettings, type Registration } from "./registration.ts";

/** What the registrar needs of the Run. */
export interface RegistrarHost {
  parts(): RunParts;
  /** Changes disk and memory together. */
  transaction<T>(change: () => T): T;
  /** Opens every batch after a step again. Returns null, or from where on they are all kept, if some are not. */
  rewind(step: number): number | null;
  /** Whoever waits is looked after: there may be batches, or leases. */
  wakeAll(): void;
}

/** How a run begins, and who takes part in it. */
export class Registrar {
  readonly #host: RegistrarHost;

  constructor(host: RegistrarHost) {
    this.#host = host;
  }

  /**
   * The first trainer settles the run; who comes later joins it. One that goes on from a checkpoint of an earlier step gets
   * every batch after that step again, and the environments' states go back to it. `key` tells a request that comes again: to go
   * back once more would serve what the trainer has acknowledged meanwhile.
   */
  register(registration: Registration, resumeFrom: number | null, key: string | null): Registered {
    const { state, fork, keys } = this.#host.parts();
    if (fork.pending !== null) return { status: "forking", from: fork.pending.source };
    const hasBegun = state.registration !== null;
    const step = hasBegun ? state.step : registration.starting_step;
    if (resumeFrom !== null && resumeFrom > step) return { status: "ahead", step, hasBegun };
    const now = Date.now();
    const note = () => {
      if (key !== null) keys.add(key, [], now);
    };
    if (state.registration !== null) {
      const isNew = key === null || keys.find(key, now) === null;
      if (resumeFrom !== null && isNew) {
        const keptFrom = this.#host.rewind(resumeFrom);
        if (keptFrom !== null) return { status: "not_kept", step: state.step, keptFrom };
        note();
      }
      return { status: "registered", ignored: ignoredSettings(state.registration, registration) };
    }
    this.#begin(registration, note);
    return { status: "registered", ignored: [] };
  }

  registerEnvironment(environment: NewEnvironment): RegisteredEnvironment {
    const { state, environments } = this.#host.parts();
    if (state.registration === null) return { status: "no_trainer" };
    const isKnown = environment.key != null && environments.keyed(environment.key) !== undefined;
    if (!isKnown && environments.count >= MAX_ENVIRONMENTS) return { status: "too_many", limit: MAX_ENVIRONMENTS };
    const { id, wandbName } = environments.register(environment, Date.now(), state.step);
    return { status: "registered", id, wandbName, registration: state.registration, step: state.step };
  }

  /** Returns false if there is no such environment. */
  disconnectEnvironment(id: number): boolean {
    const { environments, queue } = this.#host.parts();
    const environment = environments.get(id);
    if (environment === undefined) return false;
    this.#host.transaction(() => {
      environments.disconnect(environment);
      queue.releaseBuffer(id);
    });
    this.#host.wakeAll();
    return true;
  }

  /** Begins to be a copy of another run, unless it has begun to already: see the answer. Null if it has a trainer. */
  beginFork(source: string, askedStep: number | null, origin: ForkOrigin): Fork | null {
    const { state, fork } = this.#host.parts();
    if (fork.fork !== null) return fork.fork;
    if (state.registration !== null) return null;
    return this.#host.transaction(() => fork.begin(source, askedStep, origin));
  }

  /** All groups of the fork are here, so the run begins. False if it was reset meanwhile. */
  completeFork(life: number): boolean {
    const { fork } = this.#host.parts();
    if (fork.fork?.life !== life) return false;
    if (fork.pending !== null) this.#begin(fork.pending.origin.registration, () => fork.complete());
    return true;
  }

  #begin(registration: Registration, change: () => void = () => undefined): void {
    const { state, shards } = this.#host.parts();
    this.#host.transaction(() => {
      state.registration = registration;
      state.step = registration.starting_step;
      state.save(shards.nextAge);
      change();
    });
    this.#host.wakeAll();
  }
}
