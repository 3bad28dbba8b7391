import type { CommittedGroup, Verdict } from "../payloads.ts";
import { FORK_START, type ForkOrigin, type ForkPlace, forkOrigin, isAfter } from "./fork.ts";

/** How far this run has come in being a copy of another. */
export interface Fork {
  /** What copies for it name; see Copied. */
  readonly life: number;
  /** The run it is copied from. */
  readonly source: string;
  /** As the request said; null for the step at which the source was. */
  readonly askedStep: number | null;
  readonly origin: ForkOrigin;
  /** The group that was copied last. */
  readonly at: ForkPlace;
  /** Groups copied. */
  readonly groups: number;
  /** Whether the run has begun: its settings are in force, and batches are handed out. */
  readonly complete: boolean;
}

type Row = {
  source: string;
  asked_step: number | null;
  origin: string;
  batch: number | null;
  place: number;
  groups: number;
  complete: number;
};

/**
 * The side of a fork that copies go to. How far they have come is kept in the transaction that queues them, so each group
 * is copied once, however often a call breaks off and whoever goes on.
 */
export class ForkProgress {
  readonly #sql: SqlStorage;
  readonly #life: number;
  #fork: Fork | null;

  /** `life`: how often the run was reset. */
  constructor(sql: SqlStorage, life: number) {
    this.#sql = sql;
    this.#life = life;
    const row = sql.exec<Row>("SELECT * FROM fork").toArray()[0];
    this.#fork = row === undefined ? null : forkOf(row, life);
  }

  /** Null for a run that didn't begin as a fork. */
  get fork(): Fork | null {
    return this.#fork;
  }

  /** The fork that is under way, or null. */
  get pending(): Fork | null {
    return this.#fork?.complete === false ? this.#fork : null;
  }

  begin(source: string, askedStep: number | null, origin: ForkOrigin): Fork {
    const { batch, place } = FORK_START;
    this.#sql.exec(
      "INSERT INTO fork (id, source, asked_step, origin, batch, place, groups, complete) VALUES (0, ?, ?, ?, ?, ?, 0, 0)",
      source,
      askedStep,
      JSON.stringify(origin),
      batch,
      place,
    );
    this.#fork = { life: this.#life, source, askedStep, origin, at: FORK_START, groups: 0, complete: false };
    return this.#fork;
  }

  /** Why a request's groups aren't queued as copies: they were before, or the fork is over. Null if they are, or are no copies. */
  judge(groups: readonly CommittedGroup[]): readonly Verdict[] | null {
    const [first] = groups;
    if (first?.copied === undefined) return null;
    if (this.#fork?.life !== first.copied.life) return groups.map(() => ({ status: "fork_is_over" }));
    return isAfter(first.copied, this.#fork.at) ? null : groups.map(() => ({ status: "received", repeated: true }));
  }

  /** Notes that a request's groups were queued, in the transaction that does it. */
  advance(queued: readonly CommittedGroup[]): void {
    const last = queued.at(-1)?.copied;
    if (last === undefined || this.#fork === null) return;
    const { batch, place } = last;
    const groups = this.#fork.groups + queued.length;
    this.#sql.exec("UPDATE fork SET batch = ?, place = ?, groups = ?", batch, place, groups);
    this.#fork = { ...this.#fork, at: { batch, place }, groups };
  }

  /** All groups are there. */
  complete(): void {
    this.#sql.exec("UPDATE fork SET complete = 1");
    if (this.#fork !== null) this.#fork = { ...this.#fork, complete: true };
  }
}

function forkOf({ source, asked_step, origin, batch, place, groups, complete }: Row, life: number): Fork {
  return {
    ...{ life, source, askedStep: asked_step, groups },
    origin: forkOrigin.parse(JSON.parse(origin)),
    at: { batch, place },
    complete: complete === 1,
  };
}
