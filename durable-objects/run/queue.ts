import type { CommittedGroup, PayloadAddress, Verdict } from "../payloads.ts";
import { QueueIndex } from "./assembler/index.ts";
import { subsetOfSize } from "./subset.ts";

/** A group as the Run keeps it. */
export interface KeptGroup extends PayloadAddress {
  readonly age: number;
  readonly environment: number | null;
  readonly sequences: number;
  readonly tokens: number;
  readonly policyVersion: number;
}

type QueuedRow = {
  age: number;
  environment: number | null;
  sequences: number;
  tokens: number;
  policy_version: number;
  shard: number;
  payload: number;
  rows: number;
  bytes: number;
};

interface BufferedGroup {
  readonly age: number;
  readonly sequences: number;
}

/** What the queue needs to know of an environment. */
export interface GroupSizes {
  /** The size an environment said its groups have; undefined for one that isn't known. */
  groupSize(environment: number): number | undefined;
}

/**
 * Queued groups: one row a group on disk, and in memory the index the assembler works on. Groups smaller than their
 * environment's group size wait in its buffer until some of them add up to it, as Atropos environments expect.
 */
export class Queue {
  readonly #sql: SqlStorage;
  readonly index = new QueueIndex();
  readonly #buffers = new Map<number, BufferedGroup[]>();
  #bytes = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    type Row = { age: number; environment: number | null; sequences: number; bytes: number; buffered: number };
    const rows = sql.exec<Row>("SELECT age, environment, sequences, bytes, buffered FROM queued_group ORDER BY age");
    for (const { age, environment, sequences, bytes, buffered } of rows) {
      this.#bytes += bytes;
      if (buffered === 1 && environment !== null) this.#buffer(environment).push({ age, sequences });
      else this.index.add({ age, environment, size: sequences });
    }
  }

  /** Text of all queued and buffered groups. */
  get bytes(): number {
    return this.#bytes;
  }

  bufferedSequences(environment: number): number {
    return sum(this.#buffers.get(environment) ?? []);
  }

  /** Environments that have buffered groups, with their sequences. */
  buffered(): { environment: number; sequences: number }[] {
    return [...this.#buffers].map(([environment, groups]) => ({ environment, sequences: sum(groups) }));
  }

  add(group: KeptGroup, groupSize: number | undefined): Verdict {
    const { environment, sequences, age } = group;
    const small = environment !== null && groupSize !== undefined && sequences < groupSize;
    this.#sql.exec(
      `INSERT INTO queued_group (age, environment, sequences, tokens, policy_version, shard, payload, rows, bytes, buffered)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      age,
      environment,
      sequences,
      group.tokens,
      group.policyVersion,
      group.shard,
      group.payload,
      group.rows,
      group.bytes,
      small ? 1 : 0,
    );
    this.#bytes += group.bytes;
    if (!small) {
      this.index.add({ age, environment, size: sequences });
      return { status: "received" };
    }
    this.#addToBuffer(environment, groupSize, { age, sequences });
    return { status: "buffered", bufferedSequences: this.bufferedSequences(environment) };
  }

  /** Queues what an environment has buffered: nobody will make it up any more. */
  releaseBuffer(environment: number): void {
    this.#release(environment, this.#buffers.get(environment) ?? []);
  }

  /** Takes groups out of the queue, and returns them in the order given. */
  take(ages: readonly number[]): KeptGroup[] {
    const groups = ages.map((age) => {
      const row = this.#sql.exec<QueuedRow>("SELECT * FROM queued_group WHERE age = ?", age).toArray()[0];
      if (row === undefined) throw new Error(`group ${age} is in the index but not on disk`);
      this.#sql.exec("DELETE FROM queued_group WHERE age = ?", age);
      return keptGroup(row);
    });
    for (const { age, environment, sequences, bytes } of groups) {
      this.index.remove(age, environment, sequences);
      this.#bytes -= bytes;
    }
    return groups;
  }

  /**
   * The buffer always holds less than a group: what adds up leaves, and where no part adds up exactly (3 + 3 for a group
   * size of 4) all of it does, because nothing would ever release it.
   */
  #addToBuffer(environment: number, groupSize: number, group: BufferedGroup): void {
    const buffer = this.#buffer(environment);
    buffer.push(group);
    if (sum(buffer) < groupSize) return;
    const exact = subsetOfSize(
      buffer.map(({ sequences }) => sequences),
      groupSize,
    );
    this.#release(environment, exact === null ? buffer : exact.flatMap((index) => buffer[index] ?? []));
    if (sum(this.#buffer(environment)) >= groupSize) this.releaseBuffer(environment);
  }

  #release(environment: number, groups: readonly BufferedGroup[]): void {
    for (const { age, sequences } of groups) {
      this.#sql.exec("UPDATE queued_group SET buffered = 0 WHERE age = ?", age);
      this.index.add({ age, environment, size: sequences });
    }
    const rest = (this.#buffers.get(environment) ?? []).filter((group) => !groups.includes(group));
    if (rest.length > 0) this.#buffers.set(environment, rest);
    else this.#buffers.delete(environment);
  }

  #buffer(environment: number): BufferedGroup[] {
    const buffer = this.#buffers.get(environment) ?? [];
    this.#buffers.set(environment, buffer);
    return buffer;
  }
}

/** What a committed group becomes once it is queued. */
export function keep(group: CommittedGroup, shard: number, age: number, step: number): KeptGroup {
  return { ...group, shard, age, policyVersion: group.policyVersion ?? step };
}

function keptGroup({ policy_version, ...row }: QueuedRow): KeptGroup {
  return { ...row, policyVersion: policy_version };
}

function sum(groups: readonly BufferedGroup[]): number {
  return groups.reduce((total, { sequences }) => total + sequences, 0);
}
