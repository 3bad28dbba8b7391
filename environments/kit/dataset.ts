import type { z } from "zod";
import { textFromBucket } from "./bucket.ts";
import { parseJsonl } from "./items/jsonl.ts";
import type { ItemContext } from "./items.ts";
import { itemOrder } from "./random.ts";
import { remember } from "./remember.ts";

/** Most rows that are held out of a training set when nothing else is said, and the share of it that they are. */
const HELD_OUT_ROWS = 256;
const HELD_OUT_SHARE = 0.1;

export interface LoadContext<Config> {
  readonly config: Config;
  /** The Worker's bindings, by name. */
  readonly env: Readonly<Record<string, unknown>>;
  /** Ends when the invocation that loads is over. */
  readonly signal: AbortSignal;
}

export type Load<Config, Row> = (context: LoadContext<Config>) => readonly Row[] | Promise<readonly Row[]>;

export interface DatasetOptions<Config, Row, Item> {
  /** The rows of the training set. */
  readonly load: Load<Config, Row>;
  /**
   * Rows for evaluation: those of another file, or how many are held out of the end of the training set (default: a tenth,
   * at most 256).
   */
  readonly heldOut?: Load<Config, NoInfer<Row>> | number;
  /** Makes an item of a row. */
  readonly item: (row: NoInfer<Row>) => Item;
}

interface Rows<Row> {
  readonly train: readonly Row[];
  readonly evaluation: readonly Row[];
}

/**
 * Items from a data set. Every epoch draws each row once, in an order of its own. Rows are loaded at the first draw and kept
 * as long as the isolate lives (128 MB, for everything).
 *
 * @example
 * item: row, // from here the definition has the type of its items
 * items: dataset({ load: () => parseJsonl(text, row, "problems.jsonl"), item: ({ question, answer }) => … })
 */
export function dataset<Config extends { seed: number }, Row, Item>(options: DatasetOptions<Config, Row, Item>) {
  const kept = remember<Rows<Row>>();
  return async (index: number, context: ItemContext<Config, unknown>): Promise<Item> => {
    const { config, env, split, invocation } = context;
    const load = (signal: AbortSignal) => loadRows(options, { config, env, signal });
    const rows = (await kept(JSON.stringify(config), load, invocation))[split];
    if (rows.length === 0) throw new RangeError(`the data set has no rows for ${split}; see heldOut`);
    const position = split === "evaluation" ? index % rows.length : itemOrder(rows.length, config.seed)(index);
    const row = rows[position];
    if (row === undefined) throw new RangeError(`the data set has ${rows.length} rows, and none at ${position}`);
    return options.item(row);
  };
}

async function loadRows<Config, Row, Item>(
  { load, heldOut }: DatasetOptions<Config, Row, Item>,
  context: LoadContext<Config>,
): Promise<Rows<Row>> {
  const all = await load(context);
  if (typeof heldOut === "function") return { train: all, evaluation: await heldOut(context) };
  const end = all.length - (heldOut ?? Math.min(HELD_OUT_ROWS, Math.floor(all.length * HELD_OUT_SHARE)));
  return { train: all.slice(0, Math.max(0, end)), evaluation: all.slice(Math.max(0, end)) };
}

/** Reads JSON Lines from a public address. @throws Error naming address and status, JsonlError naming line and field. */
export async function jsonlFromUrl<Schema extends z.ZodType>(
  url: string,
  schema: Schema,
  signal?: AbortSignal,
): Promise<z.output<Schema>[]> {
  return parseJsonl(await textFromUrl(url, signal), schema, url);
}

/** @throws Error naming address and status */
export async function textFromUrl(url: string, signal?: AbortSignal): Promise<string> {
  const response = await fetch(url, signal === undefined ? {} : { signal });
  if (!response.ok) throw new Error(`${url} answered ${response.status}; is that where the data set is?`);
  return response.text();
}

/**
 * Reads JSON Lines from an R2 bucket.
 * @param binding the bucket's name in wrangler.toml
 * @throws Error naming binding and key, JsonlError naming line and field
 */
export async function jsonlFromBucket<Schema extends z.ZodType>(
  { env }: Pick<LoadContext<unknown>, "env">,
  binding: string,
  key: string,
  schema: Schema,
): Promise<z.output<Schema>[]> {
  const text = await textFromBucket(env, binding, key);
  if (text === null) {
    throw new Error(`the bucket ${binding} has no ${key}: npx wrangler r2 object put BUCKET/${key} --file FILE`);
  }
  return parseJsonl(text, schema, `${binding}/${key}`);
}
