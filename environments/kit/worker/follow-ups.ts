import { MAX_BACKLOG_ITEM, MAX_BACKLOG_ITEMS } from "../../../src/wire/rollouts.ts";

/** The items that a lease hands in to be drawn later. */
export class FollowUps<Item> {
  readonly items: Item[] = [];
  readonly #allowed: boolean;

  /** @param allowed whether the definition can read them back */
  constructor(allowed: boolean) {
    this.#allowed = allowed;
  }

  /** @throws Error without a schema, TypeError for what is no JSON, RangeError for too many and for one that is too large */
  readonly add = (item: Item): void => {
    if (!this.#allowed) throw new Error("a follow-up needs the definition's `item` schema");
    const text: string | undefined = JSON.stringify(item);
    if (text === undefined) throw new TypeError(`a follow-up is kept as JSON, which ${typeof item} can't be`);
    if (text.length > MAX_BACKLOG_ITEM) {
      throw new RangeError(
        `a follow-up has at most ${MAX_BACKLOG_ITEM} characters of JSON, this one ${text.length}: keep what it refers to elsewhere`,
      );
    }
    if (this.items.length >= MAX_BACKLOG_ITEMS) {
      throw new RangeError(`a lease hands in at most ${MAX_BACKLOG_ITEMS} follow-ups: draw some of them later`);
    }
    this.items.push(item);
  };
}
