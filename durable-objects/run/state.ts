import { z } from "zod";
import type { MixingState } from "./assembler/index.ts";
import { type Registration, registration } from "./registration.ts";

type RunRow = {
  registration: string | null;
  step: number;
  next_batch: number;
  next_age: number;
  deficits: string;
  policy_version: number | null;
  trainer: string | null;
  resets: number;
};

const trainerReport = z.object({ batch: z.int(), step: z.int().nullable(), metrics: z.record(z.string(), z.number()) });

/** What a trainer said when it last acknowledged a batch. */
export type TrainerReport = z.infer<typeof trainerReport>;

const deficits = z.array(z.tuple([z.int().nullable(), z.number()]));

/** The run's own row: its settings, its step and its counters. */
export class RunState {
  readonly #sql: SqlStorage;
  registration: Registration | null;
  /** One batch handed out is one step; counted from the trainer's starting_step. */
  step: number;
  nextBatch: number;
  deficits: MixingState;
  /** As a trainer published it; null if none did, and then the step stands for it. */
  policyVersion: number | null;
  trainer: TrainerReport | null;
  /** How often the run was reset. */
  resets: number;
  /** Where ages start when no shard has committed yet; see Shards.nextAge. */
  readonly firstAge: number;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    const row = sql.exec<RunRow>("SELECT * FROM run").toArray()[0];
    this.registration = row?.registration ? registration.parse(JSON.parse(row.registration)) : null;
    this.step = row?.step ?? 0;
    this.nextBatch = row?.next_batch ?? 1;
    this.firstAge = row?.next_age ?? 1;
    this.policyVersion = row?.policy_version ?? null;
    this.trainer = row?.trainer ? trainerReport.parse(JSON.parse(row.trainer)) : null;
    this.resets = row?.resets ?? 0;
    this.deficits = new Map(row === undefined ? [] : deficits.parse(JSON.parse(row.deficits)));
  }

  save(nextAge: number): void {
    this.#sql.exec(
      `INSERT INTO run (id, registration, step, next_batch, next_age, deficits, policy_version, trainer, resets)
       VALUES (0, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
       ON CONFLICT (id) DO UPDATE SET registration = ?1, step = ?2, next_batch = ?3, next_age = ?4, deficits = ?5,
         policy_version = ?6, trainer = ?7, resets = ?8`,
      this.registration === null ? null : JSON.stringify(this.registration),
      this.step,
      this.nextBatch,
      nextAge,
      JSON.stringify([...this.deficits]),
      this.policyVersion,
      this.trainer === null ? null : JSON.stringify(this.trainer),
      this.resets,
    );
  }
}
