import type { z } from "zod";
import type { Message, Tool } from "./inference/index.ts";
import type { Items } from "./items.ts";
import type { Policy } from "./policy.ts";
import type { Random } from "./random.ts";
import type { ConfigOf, SettingsOf } from "./read-config.ts";
import type { Rollout, ScoredGroup, ToolCallParser } from "./trajectory/index.ts";

/** What every function of an environment is given. `state` is as it was when the invocation began. */
export interface BaseContext<Config, State> {
  readonly config: Config;
  readonly state: State;
  /** The Worker's bindings, by name. */
  readonly env: Readonly<Record<string, unknown>>;
  /** Ends when the time for the work is over. */
  readonly signal: AbortSignal;
}

/** What rollouts are generated with. */
export interface GroupContext<Config, State, Item> extends BaseContext<Config, State> {
  readonly item: Item;
  readonly policy: Policy;
  /** Seeded by the lease: every attempt at an item gets the same numbers. */
  readonly random: Random;
  /** Rollouts wanted: group_size, or 1 in an evaluation. */
  readonly size: number;
  /** Hands in an item that is drawn later, before new ones. It is read back with the definition's `item` schema. */
  followUp(item: Item): void;
}

export interface RolloutContext<Config, State, Item> extends Omit<GroupContext<Config, State, Item>, "size"> {
  /** In the group, from 0. */
  readonly index: number;
}

/** A chat to complete. */
export interface Prompt {
  readonly messages: readonly Message[];
  readonly tools?: readonly Tool[];
  readonly parseToolCalls?: ToolCallParser;
  readonly stop?: readonly string[];
}

/** A lease brings no group, and that is right so. */
export interface Nothing {
  /** One word in snake_case, which is counted. */
  readonly nothing: string;
  readonly message: string;
}

/** Says why a lease brings no group. */
export function nothing(reason: string, message = ""): Nothing {
  return { nothing: reason, message };
}

/** Rollouts of several groups, each scored by itself. A group may have any number of them. */
export interface Groups<R> {
  readonly groups: readonly (readonly R[])[];
}

/** A rollout's score; null drops the rollout. */
export type Score = number | null | ScoredRollout;

export interface ScoredRollout {
  readonly score: number;
  /** One number for all its sampled positions, or numbers `[sequence][position]`. */
  readonly advantage?: number | readonly (readonly number[])[];
  /** What the trainer should treat differently, for instance `{ set_advantage_to_zero: true }`. */
  readonly overrides?: Readonly<Record<string, unknown>>;
}

export interface ScoreContext<Config, State, Item, R> extends BaseContext<Config, State> {
  readonly item: Item;
  readonly rollouts: readonly R[];
  followUp(item: Item): void;
}

/** A scored group, as a filter or `finish` sees it. Dropped rollouts are left out. */
export interface FilterContext<Config, State, Item, R> extends BaseContext<Config, State> {
  readonly item: Item;
  readonly rollouts: readonly R[];
  /** `[rollout]` */
  readonly scores: readonly number[];
}

/** How a lease ended, for the state. */
export interface Outcome<Item, R> {
  readonly item: Item;
  readonly kind: "submitted" | "skipped";
  /** Why it was skipped. */
  readonly reason: string | null;
  /** Of all its groups, dropped ones included. */
  readonly rollouts: readonly R[];
  /** `[rollout]`, as long as `rollouts`. */
  readonly scores: readonly number[];
}

/** What an environment remembers from group to group. Kept at the server as JSON of at most 49,152 characters. */
export interface StateDefinition<Config, State, Item, R> {
  readonly schema: z.ZodType<State>;
  initial(config: Config): NoInfer<State>;
  /** The state after a lease. Must be pure: it is called again when another invocation saved first. */
  reduce(state: NoInfer<State>, outcome: Outcome<Item, R>, config: Config): NoInfer<State>;
}

export interface EvaluateContext<Config, State, Item, R> extends BaseContext<Config, State> {
  /** Samples with eval_temperature and within the limits for evaluations. */
  readonly policy: Policy;
  /** The held-out items. */
  readonly items: readonly Item[];
  readonly random: Random;
  /** Generates and scores one rollout for each item, as training does. */
  run(items: readonly Item[]): Promise<readonly EvaluatedRollout<Item, R>[]>;
}

export interface EvaluatedRollout<Item, R> {
  readonly item: Item;
  readonly rollout: R;
  /** Null where `score` dropped it. */
  readonly score: number | null;
}

/** What all environments are made of, however they generate. `Own` is the shape of the environment's own settings. */
export interface CommonDefinition<Own extends z.ZodRawShape, Item, State, R extends Rollout> {
  /** Also its key at the run, and the name of its folder. */
  readonly name: string;
  readonly description?: string;
  /** Settings beside the base's, all with defaults. A field of the base's name replaces it. */
  readonly config: z.ZodObject<Own>;
  /** Settings under a name, which the variable PRESET chooses. */
  readonly presets?: Readonly<Record<string, NoInfer<SettingsOf<Own>>>>;
  /** How items are read back that came as follow-ups. Without it there are none. */
  readonly item?: z.ZodType<Item>;
  readonly items: Items<Item, ConfigOf<Own>, State>;
  /** An item's right answer: what reward functions compare with when the setting `reward` takes the place of `score`. */
  answer?(item: Item): string | number | null;
  /** One score for each rollout. */
  score(context: ScoreContext<ConfigOf<Own>, State, Item, R>): readonly Score[] | Promise<readonly Score[]>;
  /** Why a scored group is dropped, in one word of snake_case; null keeps it. Comes before the kit's own filters. */
  filter?(context: FilterContext<ConfigOf<Own>, State, Item, R>): string | null;
  /** The last word on a group that is handed in: to add fields to it. */
  finish?(group: ScoredGroup, context: FilterContext<ConfigOf<Own>, State, Item, R>): object | Promise<object>;
  readonly state?: StateDefinition<ConfigOf<Own>, State, Item, R>;
  /** Metrics by name. Default: generates and scores one rollout for each held-out item, and gives the mean score. */
  evaluate?(context: EvaluateContext<ConfigOf<Own>, State, Item, R>): Promise<Readonly<Record<string, number>>>;
}

type Never<Keys extends string> = { readonly [Key in Keys]?: never };

/** One turn: a chat to complete. All rollouts of a group come from as few calls as possible. */
export interface PromptDefinition<Own extends z.ZodRawShape, Item, State>
  extends CommonDefinition<Own, Item, State, Rollout>,
    Never<"rollout" | "rollouts"> {
  prompt(
    item: Item,
    context: PromptContext<ConfigOf<Own>, State>,
  ): Prompt | Prompt["messages"] | Promise<Prompt | Prompt["messages"]>;
}

export interface PromptContext<Config, State> extends BaseContext<Config, State> {
  readonly random: Random;
}

/** One rollout at a time; the kit makes group_size of them. */
export interface RolloutDefinition<Own extends z.ZodRawShape, Item, State, R extends Rollout>
  extends CommonDefinition<Own, Item, State, R>,
    Never<"prompt" | "rollouts"> {
  rollout(context: RolloutContext<ConfigOf<Own>, State, Item>): Promise<R>;
}

/** All rollouts at once: a group of `size` rollouts, groups of any size, or nothing and why. */
export interface RolloutsDefinition<Own extends z.ZodRawShape, Item, State, R extends Rollout>
  extends CommonDefinition<Own, Item, State, R>,
    Never<"prompt" | "rollout"> {
  rollouts(context: GroupContext<ConfigOf<Own>, State, Item>): Promise<readonly R[] | Groups<R> | Nothing>;
}
