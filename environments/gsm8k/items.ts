import { itemOrder } from "../kit/random.ts";
import type { Gsm8kConfig } from "./config.ts";
import type { Gsm8kItem } from "./item.ts";
import { problemAt } from "./problems.ts";

/**
 * The item that training draws as number `index`.
 * @param rows the data set, if items don't come from the generator: each epoch goes through it in an order of its own.
 */
export function itemAt(index: number, config: Gsm8kConfig, rows: readonly Gsm8kItem[] | null = null): Gsm8kItem {
  return rows === null ? problemAt(index, config) : rowAt(rows, itemOrder(rows.length, config.seed)(index));
}

/** Item `index` of an evaluation: never one that training draws from the generator, and a data set's rows in their order. */
export function evaluationItemAt(
  index: number,
  config: Gsm8kConfig,
  rows: readonly Gsm8kItem[] | null = null,
): Gsm8kItem {
  return rows === null ? problemAt(index, config, "evaluation") : rowAt(rows, index % rows.length);
}

function rowAt(rows: readonly Gsm8kItem[], index: number): Gsm8kItem {
  const row = rows[index];
  if (row === undefined) throw new RangeError(`the data set has ${rows.length} rows, and none at ${index}`);
  return row;
}
