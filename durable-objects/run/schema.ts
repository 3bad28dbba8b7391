import type { Migrations } from "../migrations.ts";

export const migrations: Migrations = [
  (sql) => {
    sql.exec(`CREATE TABLE run (
      id INTEGER PRIMARY KEY CHECK (id = 0),
      registration TEXT,             -- Registration as JSON; null until a trainer registers
      step INTEGER NOT NULL,
      next_batch INTEGER NOT NULL,   -- never goes back, not even at a reset: a batch id is used once
      next_age INTEGER NOT NULL,     -- where ages go on after a reset; in between shard.next_age leads
      deficits TEXT NOT NULL         -- [[environment, sequences], …]: what weighted mixing still owes
    )`);
    sql.exec(`CREATE TABLE shard (
      shard INTEGER PRIMARY KEY,
      commit_sequence INTEGER NOT NULL, -- the last commit taken: one sent again is told by its number
      last_payload INTEGER NOT NULL,    -- the highest payload number taken
      next_age INTEGER NOT NULL,        -- kept here because this row is written with every commit anyway
      verdicts TEXT,                    -- of that last commit, as JSON, unless all were "received"
      latest TEXT                       -- PayloadAddress of the group queued last, as JSON
    )`);
    sql.exec(`CREATE TABLE environment (
      id INTEGER PRIMARY KEY,
      label TEXT,                       -- of the path it registered below
      name TEXT NOT NULL,
      wandb_name TEXT NOT NULL,
      max_token_length INTEGER NOT NULL,
      group_size INTEGER NOT NULL,
      weight REAL NOT NULL,
      floor REAL,
      connected INTEGER NOT NULL
    )`);
    // No index beside the key: an index doubles the billed writes, and the queue's order is kept in memory.
    sql.exec(`CREATE TABLE queued_group (
      age INTEGER PRIMARY KEY,
      environment INTEGER,
      sequences INTEGER NOT NULL,
      tokens INTEGER NOT NULL,
      policy_version INTEGER NOT NULL,
      shard INTEGER NOT NULL,
      payload INTEGER NOT NULL,
      rows INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      buffered INTEGER NOT NULL         -- 1: waits for its environment's group size to be made up
    )`);
    sql.exec(`CREATE TABLE batch (
      id INTEGER PRIMARY KEY,
      step INTEGER NOT NULL,
      delivered INTEGER NOT NULL
    )`);
    // A row has to stay below 2 MB, so a long list of groups has several.
    sql.exec(`CREATE TABLE batch_part (
      batch INTEGER NOT NULL,
      part INTEGER NOT NULL,
      groups TEXT NOT NULL,             -- [BatchGroup, …] as JSON, in the order in which they are served
      PRIMARY KEY (batch, part)
    ) WITHOUT ROWID`);
    // Payloads nobody will ask for again, until their shard has let go of them.
    sql.exec(
      "CREATE TABLE discard (shard INTEGER NOT NULL, payload INTEGER NOT NULL, PRIMARY KEY (shard, payload)) WITHOUT ROWID",
    );
    // After a reset: the shard is to let go of everything through this payload and this commit.
    sql.exec(`CREATE TABLE discard_through (
      shard INTEGER PRIMARY KEY,
      payload INTEGER NOT NULL,
      commit_sequence INTEGER NOT NULL  -- the last commit taken before the reset
    )`);
  },
];
