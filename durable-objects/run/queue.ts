import type { CommittedGroup, PayloadAddress, Verdict } from "../payloads.ts";
import { QueueIndex } from "./assembler/index.ts";
import { PolicyVersions } from "./policy-versions.ts";
import { subsetOfSize } from "./subset.ts";

/** A group as the Run keeps it. */
export interface KeptGroup extends PayloadAddress {
  readonly age: number;
  readonly environment: number | null;
  readonly sequences: number;
  readonly tokens: number;
  readonly policyVersion: number;
}

/** A group as it stands in a table. */
export type GroupRow = {
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

type BufferedGroup = Pick<KeptGroup, "age" | "sequences" | "policyVersion">;

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
  /** Sequences in each. */
  readonly #sums = new Map<number, number>();
  readonly #versions = new PolicyVersions();
  #buffered = 0;
  #bytes = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    type Row = Pick<GroupRow, "age" | "environment" | "sequences" | "bytes" | "policy_version"> & { buffered: number };
    const rows = sql.exec<Row>(
      "SELECT age, environment, sequences, bytes, policy_version, buffered FROM queued_group ORDER BY age",
    );
    for (const { age, environment, sequences, bytes, policy_version: policyVersion, buffered } of rows) {
      this.#bytes += bytes;
      if (buffered === 1 && environment !== null) this.#hold(environment, { age, sequences, policyVersion });
      else this.#enter({ age, environment, sequences, policyVersion });
    }
  }

  /** Text of all queued and buffered groups. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Sequences in all buffers. */
  get allBuffered(): number {
    return this.#buffered;
  }

  /** Ages of the queued groups that are older than a policy version. */
  olderThan(policyVersion: number): number[] {
    return this.#versions.below(policyVersion);
  }

  /** Sequences of those. */
  sequencesOlderThan(policyVersion: number): number {
    if (this.olderThan(policyVersion).length === 0) return 0;
    const query = "SELECT SUM(sequences) AS sequences FROM queued_group WHERE policy_version < ? AND buffered = 0";
    return this.#sql.exec<{ sequences: number | null }>(query, policyVersion).one().sequences ?? 0;
  }

  bufferedSequences(environment: number): number {
    return this.#sums.get(environment) ?? 0;
  }

  /** Environments that have buffered groups, with their sequences. */
  buffered(): { environment: number; sequences: number }[] {
    return [...this.#sums].map(([environment, sequences]) => ({ environment, sequences }));
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
    const { policyVersion } = group;
    if (!small) {
      this.#enter({ age, environment, sequences, policyVersion });
      return { status: "received" };
    }
    this.#addToBuffer(environment, groupSize, { age, sequences, policyVersion });
    return { status: "buffered", bufferedSequences: this.bufferedSequences(environment) };
  }

  /** Queues what an environment has buffered: nobody will make it up any more. */
  releaseBuffer(environment: number): void {
    this.#release(environment, this.#buffers.get(environment) ?? []);
  }

  /** Some of the groups between two ages, both excluded: oldest first, buffered ones too. */
  between(after: number, before: number, limit: number): KeptGroup[] {
    const query = "SELECT * FROM queued_group WHERE age > ? AND age < ? ORDER BY age LIMIT ?";
    return this.#sql
      .exec<GroupRow>(query, after, before, limit)
      .toArray()
      .map((row) => keptGroup(row));
  }

  /** All groups, buffered ones too. */
  count(): number {
    return this.#sql.exec<{ groups: number }>("SELECT COUNT(*) AS groups FROM queued_group").one().groups;
  }

  /** Takes groups out of the queue, and returns them in the order given. */
  take(ages: readonly number[]): KeptGroup[] {
    const groups = ages.map((age) => {
      const row = this.#sql.exec<GroupRow>("SELECT * FROM queued_group WHERE age = ?", age).toArray()[0];
      if (row === undefined) throw new Error(`group ${age} is in the index but not on disk`);
      this.#sql.exec("DELETE FROM queued_group WHERE age = ?", age);
      return keptGroup(row);
    });
    for (const { age, environment, sequences, bytes, policyVersion } of groups) {
      this.index.remove(age, environment, sequences);
      this.#versions.remove(policyVersion, age);
      this.#bytes -= bytes;
    }
    return groups;
  }

  /**
   * The buffer always holds less than a group: what adds up leaves, and where no part adds up exactly (3 + 3 for a group
   * size of 4) all of it does, because nothing would ever release it.
   */
  #addToBuffer(environment: number, groupSize: number, group: BufferedGroup): void {
    const buffer = this.#hold(environment, group);
    if (this.bufferedSequences(environment) < groupSize) return;
    const exact = subsetOfSize(
      buffer.map(({ sequences }) => sequences),
      groupSize,
    );
    this.#release(environment, exact === null ? buffer : exact.flatMap((index) => buffer[index] ?? []));
    if (this.bufferedSequences(environment) >= groupSize) this.releaseBuffer(environment);
  }

  #release(environment: number, groups: readonly BufferedGroup[]): void {
    for (const group of groups) {
      this.#sql.exec("UPDATE queued_group SET buffered = 0 WHERE age = ?", group.age);
      this.#enter({ environment, ...group });
      this.#buffered -= group.sequences;
    }
    const released = new Set(groups);
    const rest = (this.#buffers.get(environment) ?? []).filter((group) => !released.has(group));
    if (rest.length > 0) {
      this.#buffers.set(environment, rest);
      this.#sums.set(environment, sum(rest));
    } else {
      this.#buffers.delete(environment);
      this.#sums.delete(environment);
    }
  }

  /** Adds a group to its environment's buffer, and returns that. */
  #hold(environment: number, group: BufferedGroup): BufferedGroup[] {
    const buffer = this.#buffers.get(environment) ?? [];
    this.#buffers.set(environment, buffer);
    buffer.push(group);
    this.#sums.set(environment, this.bufferedSequences(environment) + group.sequences);
    this.#buffered += group.sequences;
    return buffer;
  }

  /** A group counts from here on. */
  #enter({ age, environment, sequences, policyVersion }: BufferedGroup & Pick<KeptGroup, "environment">): void {
    this.index.add({ age, environment, size: sequences });
    this.#versions.add(policyVersion, age);
  }
}

/** What a committed group becomes once it is queued. */
export function keep(group: CommittedGroup, shard: number, age: number, step: number): KeptGroup {
  return { ...group, shard, age, policyVersion: group.policyVersion ?? step };
}

export function keptGroup<R extends GroupRow>({ policy_version, ...row }: R) {
  return { ...row, policyVersion: policy_version };
}

function sum(groups: readonly BufferedGroup[]): number {
  return groups.reduce((total, { sequences }) => total + sequences, 0);
}
