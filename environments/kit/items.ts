import type { Random } from "./random.ts";

/** Items of training, or those held out for evaluation. */
export type Split = "train" | "evaluation";

/** What items are made with. */
export interface ItemContext<Config, State> {
  readonly config: Config;
  readonly state: State;
  readonly split: Split;
  /** Seeded by the environment's name, the config's seed, split and index: item i is the same everywhere. */
  readonly random: Random;
  /** The Worker's bindings, by name. */
  readonly env: Readonly<Record<string, unknown>>;
  /** Ends when the invocation that draws is over: for `remember`. */
  readonly invocation: AbortSignal;
}

/**
 * Makes the item of an index, counted from 0 in each split. What is drawn with the context's `random` differs between the
 * splits by itself; what is made of the index alone has to see to it.
 */
export type Items<Item, Config, State> = (index: number, context: ItemContext<Config, State>) => Item | Promise<Item>;
