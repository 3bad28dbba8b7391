import { floorsInSequences } from "./assembler/index.ts";
import { DEFAULT_LEASING, type Leasing, leasing } from "./leasing.ts";
import type { StallNotes } from "./stall-notes.ts";

/** An environment that hasn't been heard from for this long has no floor (P5). */
export const SILENT_AFTER_MS = 60_000;

/** Environments a run may have over its life. Each costs about a kilobyte of memory. */
export const MAX_ENVIRONMENTS = 20_000;

/** More counts as this much, so that sums over all environments are numbers. */
export const MAX_WEIGHT = 1e9;

/** What an environment says of itself when it registers. */
export interface NewEnvironment {
  /** Null on the wire becomes "env". */
  readonly name: string;
  readonly label: string | null;
  readonly maxTokenLength: number;
  readonly groupSize: number;
  readonly weight: number;
  readonly floor: number | null;
  /** Whoever registers with the key of an environment is that environment. */
  readonly key?: string | null;
  readonly leasing?: Leasing;
}

export interface Environment extends NewEnvironment {
  readonly id: number;
  readonly key: string | null;
  readonly leasing: Leasing;
  /** Its name with a number that no other environment of that name has. */
  readonly wandbName: string;
  connected: boolean;
  /** The next item of its sequence that a rollout lease names. */
  nextItem: number;
  /** Multiples of steps_per_eval up to this step are dealt with: it was told to evaluate, or came after them. */
  evaluatedThrough: number;
  /** Leases that the evaluation which is due has lost; 0 for one that wasn't given out yet, or if none is due. */
  lostEvaluations: number;
  /**
   * In memory alone: a poll writes nothing. When the object wakes, everyone counts as heard from just then, unless a trainer
   * waits for them; see StallNotes.
   */
  lastHeard: number;
}

type EnvironmentRow = {
  id: number;
  label: string | null;
  name: string;
  wandb_name: string;
  max_token_length: number;
  group_size: number;
  weight: number;
  floor: number | null;
  connected: number;
  key: string | null;
  leasing: string | null;
  next_item: number;
  last_evaluation: number;
  lost_evaluations: number;
};

/** The environments of a run. */
export class Environments {
  readonly #sql: SqlStorage;
  readonly #notes: StallNotes;
  readonly #byId = new Map<number, Environment>();
  readonly #countByName = new Map<string, number>();
  readonly #lastByLabel = new Map<string, Environment>();
  readonly #byKey = new Map<string, Environment>();
  #floors: {
    readonly batchSize: number;
    readonly until: number;
    readonly sequences: ReadonlyMap<number, number>;
  } | null = null;
  readonly #suspended = new Set<number>();
  #version = 0;

  constructor(sql: SqlStorage, now: number, notes: StallNotes) {
    this.#sql = sql;
    this.#notes = notes;
    for (const row of sql.exec<EnvironmentRow>("SELECT * FROM environment ORDER BY id")) {
      this.#keep({
        id: row.id,
        label: row.label,
        name: row.name,
        wandbName: row.wandb_name,
        maxTokenLength: row.max_token_length,
        groupSize: row.group_size,
        weight: Math.min(MAX_WEIGHT, row.weight),
        floor: row.floor,
        connected: row.connected === 1,
        key: row.key,
        leasing: row.leasing === null ? DEFAULT_LEASING : leasing.parse(JSON.parse(row.leasing)),
        nextItem: row.next_item,
        evaluatedThrough: row.last_evaluation,
        lostEvaluations: row.lost_evaluations,
        lastHeard: notes.heardAt(row.id, now),
      });
    }
  }

  /** Grows when an environment comes, goes or comes back: what was computed from connections and floors is void. */
  get version(): number {
    return this.#version;
  }

  get count(): number {
    return this.#byId.size;
  }

  all(): Iterable<Environment> {
    return this.#byId.values();
  }

  get(id: number): Environment | undefined {
    return this.#byId.get(id);
  }

  /** The environment last registered below a label. */
  labelled(label: string): Environment | undefined {
    return this.#lastByLabel.get(label);
  }

  connected(): Environment[] {
    return [...this.#byId.values()].filter((environment) => environment.connected);
  }

  /** The environment that registered with a key. */
  keyed(key: string): Environment | undefined {
    return this.#byKey.get(key);
  }

  /**
   * Registers an environment, or one again that comes with a key it had before: it keeps its id, its place in its items and
   * its name, and gets the settings it asks for now. `step` is the run's.
   */
  register(asked: NewEnvironment, now: number, step = 0): Environment {
    const environment = { ...asked, weight: Math.min(MAX_WEIGHT, asked.weight) };
    const known = environment.key == null ? undefined : this.#byKey.get(environment.key);
    if (known !== undefined) return this.#again(known, environment, now, step);
    const number = this.#countByName.get(environment.name) ?? 0;
    const kept: Environment = {
      ...environment,
      id: this.#byId.size,
      wandbName: `${environment.name}_${number}`,
      connected: true,
      lastHeard: now,
      key: environment.key ?? null,
      leasing: environment.leasing ?? { ...DEFAULT_LEASING, leaseSequences: environment.groupSize },
      nextItem: 0,
      evaluatedThrough: step,
      lostEvaluations: 0,
    };
    this.#sql.exec(
      `INSERT INTO environment (id, label, name, wandb_name, max_token_length, group_size, weight, floor, connected,
         key, leasing, last_evaluation) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)`,
      kept.id,
      kept.label,
      kept.name,
      kept.wandbName,
      kept.maxTokenLength,
      kept.groupSize,
      kept.weight,
      kept.floor,
      kept.key,
      JSON.stringify(kept.leasing),
      kept.evaluatedThrough,
    );
    this.#keep(kept);
    return kept;
  }

  /** Keeps how far an environment's items and evaluations have come. */
  saveProgress(id: number): void {
    const environment = this.#byId.get(id);
    if (environment === undefined) return;
    const { nextItem, evaluatedThrough, lostEvaluations } = environment;
    this.#sql.exec(
      "UPDATE environment SET next_item = ?, last_evaluation = ?, lost_evaluations = ? WHERE id = ?",
      nextItem,
      evaluatedThrough,
      lostEvaluations,
      id,
    );
  }

  /** An environment's evaluation of a step has lost so many leases: it is due again. */
  lostEvaluation(id: number, step: number, leases: number): void {
    const environment = this.#byId.get(id);
    // If the trainer has gone back behind that step meanwhile, a new one is due anyway, which has lost none.
    if (environment === undefined || environment.evaluatedThrough < step) return;
    environment.lostEvaluations = leases;
    this.saveProgress(id);
  }

  /**
   * Evaluations of steps after this one don't count any more, nor do the leases they lost: they are due again. One that was
   * given out after this step may have been due since before it.
   */
  evaluateAgain(step: number): void {
    for (const environment of this.#byId.values()) {
      const { evaluatedThrough, leasing } = environment;
      if (evaluatedThrough <= step) continue;
      const dueSince = evaluatedThrough - (leasing.stepsPerEval > 0 ? evaluatedThrough % leasing.stepsPerEval : 0);
      environment.evaluatedThrough = Math.min(step, Math.max(0, dueSince - 1));
      environment.lostEvaluations = 0;
      this.saveProgress(environment.id);
    }
  }

  /** Notes a sign of life. */
  heard(environment: Environment, now: number): void {
    if (!isAlive(environment, now)) this.#changed();
    environment.lastHeard = now;
    this.#notes.heard(environment.id, now);
  }

  disconnect(environment: Environment): void {
    if (!environment.connected) return;
    this.#sql.exec("UPDATE environment SET connected = 0 WHERE id = ?", environment.id);
    environment.connected = false;
    this.#changed();
  }

  /**
   * Suspends an environment's floor, or lets it count again: the run is full with what others made before it came, so it
   * can't make what its floor asks for until a batch is formed without it. In memory alone, as it passes.
   */
  suspendFloor(id: number, suspended: boolean): void {
    if (this.#suspended.has(id) === suspended) return;
    if (suspended) this.#suspended.add(id);
    else this.#suspended.delete(id);
    this.#changed();
  }

  /**
   * The floors of the environments that are alive, in sequences by id. The map is the same object until something
   * changes, so that its identity can be remembered.
   */
  floors(batchSize: number, now: number): ReadonlyMap<number, number> {
    if (this.#floors?.batchSize === batchSize && now < this.#floors.until) return this.#floors.sequences;
    const withFloor = this.connected().filter((environment) => environment.floor !== null);
    const alive = withFloor.filter((environment) => isAlive(environment, now) && !this.#suspended.has(environment.id));
    const until = Math.min(...alive.map((environment) => environment.lastHeard + SILENT_AFTER_MS));
    const sequences = floorsInSequences(
      batchSize,
      alive.map(({ id, floor }) => ({ id, floor, alive: true })),
    );
    this.#floors = { batchSize, until, sequences };
    return sequences;
  }

  /** Writes nothing when nothing changed, as an environment's Worker registers every minute. */
  #again(known: Environment, asked: NewEnvironment, now: number, step: number): Environment {
    const { maxTokenLength, groupSize, weight, floor, label } = asked;
    const kept = {
      ...known,
      ...{ maxTokenLength, groupSize, weight, floor, label },
      leasing: asked.leasing ?? known.leasing,
      connected: true,
    };
    // What was crossed before it wanted to evaluate is not its to evaluate.
    if (known.leasing.stepsPerEval === 0 && kept.leasing.stepsPerEval > 0) {
      kept.evaluatedThrough = step;
      kept.lostEvaluations = 0;
    }
    this.heard(known, now);
    kept.lastHeard = now;
    if (JSON.stringify(kept) === JSON.stringify({ ...known, lastHeard: now })) return known;
    this.#sql.exec(
      `UPDATE environment SET label = ?, max_token_length = ?, group_size = ?, weight = ?, floor = ?, connected = 1, leasing = ?,
         last_evaluation = ?, lost_evaluations = ?
       WHERE id = ?`,
      label,
      maxTokenLength,
      groupSize,
      weight,
      floor,
      JSON.stringify(kept.leasing),
      kept.evaluatedThrough,
      kept.lostEvaluations,
      known.id,
    );
    this.#index(kept);
    return kept;
  }

  #keep(environment: Environment): void {
    this.#countByName.set(environment.name, (this.#countByName.get(environment.name) ?? 0) + 1);
    this.#index(environment);
  }

  #index(environment: Environment): void {
    this.#byId.set(environment.id, environment);
    if (environment.key !== null) this.#byKey.set(environment.key, environment);
    if (environment.label !== null) this.#lastByLabel.set(environment.label, environment);
    this.#changed();
  }

  #changed(): void {
    this.#version += 1;
    this.#floors = null;
  }
}

export function isAlive(environment: Environment, now: number): boolean {
  return environment.connected && now - environment.lastHeard < SILENT_AFTER_MS;
}
