import { z } from "zod";
import type { Client } from "../../../src/client/client.ts";
import { MAX_STATE } from "../../../src/wire/rollouts.ts";
import { during, Failure } from "./failure.ts";

/** Tries to save a state that others save too. */
const ATTEMPTS = 10;

/** Longest wait before the next try, in milliseconds, doubled each time from the first. */
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 2_000;

/** What is needed of a state's definition. */
export interface StateCodec<State> {
  readonly schema: z.ZodType<State>;
  readonly initial: State;
}

type StateClient = Pick<Client, "environmentState" | "saveEnvironmentState">;

export interface StateOptions<State> {
  readonly client: StateClient;
  readonly environment: number;
  readonly codec: StateCodec<State>;
  readonly sleep: (ms: number) => Promise<void>;
  readonly random: () => number;
}

/** An environment's state at the server: read once, folded by compare-and-swap. */
export class StateStore<State> {
  readonly #options: StateOptions<State>;
  #first: Promise<Versioned<State>> | undefined;

  constructor(options: StateOptions<State>) {
    this.#options = options;
  }

  /** The state when it was first asked for. @throws Failure */
  async read(): Promise<State> {
    this.#first ??= this.#fetch();
    return (await this.#first).state;
  }

  /**
   * Replaces the state by what `fold` makes of it. When somebody else saved in between, what they saved is folded instead, so
   * `fold` may be called several times.
   * @throws Failure
   */
  async fold(fold: (state: State) => State): Promise<void> {
    const { client, environment, sleep, random } = this.#options;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const { version, state } = attempt === 1 && this.#first !== undefined ? await this.#first : await this.#fetch();
      const folded = await during("state", () => fold(state));
      expectFits(folded);
      const saved = await during("state", () => client.saveEnvironmentState(environment, version, folded));
      if (saved !== null) return;
      await sleep(random() * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt));
    }
    throw new Failure(
      "state",
      `others changed the state ${ATTEMPTS} times while it was saved; it was left as they saved it`,
    );
  }

  #fetch(): Promise<Versioned<State>> {
    const { client, environment, codec } = this.#options;
    return during("state", async () => {
      const { version, state } = await client.environmentState(environment);
      // There was none yet, or the run went back to before the first.
      return { version, state: state === null ? codec.initial : read(codec.schema, state) };
    });
  }
}

function read<State>(schema: z.ZodType<State>, kept: unknown): State {
  const state = schema.safeParse(kept);
  if (state.success) return state.data;
  throw new Failure(
    "state",
    `the state that the run keeps doesn't fit the schema (${z.prettifyError(state.error)}): give new fields defaults, or ` +
      "give the environment another name, which starts anew",
  );
}

interface Versioned<State> {
  readonly version: number;
  readonly state: State;
}

function expectFits(state: unknown): void {
  const length = JSON.stringify(state)?.length ?? 0;
  if (length <= MAX_STATE) return;
  throw new Failure(
    "state",
    `the state has ${length} characters of JSON; at most ${MAX_STATE} are kept: keep less of it`,
  );
}
