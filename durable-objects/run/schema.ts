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
  (sql) => {
    sql.exec("ALTER TABLE run ADD COLUMN policy_version INTEGER"); // null until a trainer publishes one
    sql.exec("ALTER TABLE run ADD COLUMN trainer TEXT"); // TrainerReport of the last ack, as JSON
    sql.exec("ALTER TABLE batch ADD COLUMN lease_until INTEGER NOT NULL DEFAULT 0"); // Unix milliseconds
    sql.exec("ALTER TABLE environment ADD COLUMN key TEXT"); // registering again under it is the same environment
    sql.exec("ALTER TABLE environment ADD COLUMN leasing TEXT"); // Leasing as JSON; null: the defaults
    sql.exec("ALTER TABLE environment ADD COLUMN next_item INTEGER NOT NULL DEFAULT 0");
    sql.exec("ALTER TABLE environment ADD COLUMN last_evaluation INTEGER NOT NULL DEFAULT 0"); // in multiples of steps_per_eval
    sql.exec(`CREATE TABLE endpoint (
      id INTEGER PRIMARY KEY,
      url TEXT NOT NULL,
      model TEXT NOT NULL,
      backend TEXT NOT NULL,
      secret TEXT,                      -- a name, never a value
      max_training_requests INTEGER NOT NULL,
      max_evaluation_requests INTEGER NOT NULL,
      current INTEGER NOT NULL          -- 0: replaced; the last row stays, so that ids go on
    )`);
    // Open leases, and closed ones for a day: a submission that comes again is answered from here.
    sql.exec(`CREATE TABLE rollout_lease (
      id INTEGER PRIMARY KEY,
      environment INTEGER NOT NULL,
      kind TEXT NOT NULL,
      item INTEGER,                     -- null for a follow-up item and for an evaluation
      backlog TEXT,                     -- a follow-up item as JSON
      seed INTEGER NOT NULL,
      attempt INTEGER NOT NULL,
      policy_version INTEGER NOT NULL,
      step INTEGER NOT NULL,
      endpoint INTEGER NOT NULL,
      sequences INTEGER NOT NULL,       -- room kept for it
      expires_at INTEGER NOT NULL,
      admitted INTEGER NOT NULL,        -- queued and leased sequences right after it was given out
      follow_ups TEXT,                  -- [item as JSON, …] as JSON: drawn once the lease ends well
      outcome TEXT,                     -- null while it is open
      reason TEXT,
      closed_at INTEGER,
      groups INTEGER NOT NULL DEFAULT 0,
      verdicts TEXT                     -- of its groups, as JSON, unless all were "received"
    )`);
    // Follow-ups, and items whose lease was lost: drawn before new ones.
    sql.exec(`CREATE TABLE waiting_item (
      id INTEGER PRIMARY KEY,
      environment INTEGER NOT NULL,
      item INTEGER,
      backlog TEXT,
      seed INTEGER NOT NULL,
      attempt INTEGER NOT NULL
    )`);
    sql.exec(`CREATE TABLE outcome (
      environment INTEGER NOT NULL,     -- -1: groups that came without one
      outcome TEXT NOT NULL,
      reason TEXT NOT NULL,             -- "" where there is none
      count INTEGER NOT NULL,
      PRIMARY KEY (environment, outcome, reason)
    ) WITHOUT ROWID`);
    sql.exec(`CREATE TABLE evaluation (
      id INTEGER PRIMARY KEY,
      environment INTEGER NOT NULL,
      step INTEGER NOT NULL,
      metrics TEXT NOT NULL             -- {name: number} as JSON
    )`);
    sql.exec(
      "CREATE TABLE environment_state (environment INTEGER PRIMARY KEY, version INTEGER NOT NULL, state TEXT NOT NULL)",
    );
    sql.exec(`CREATE TABLE environment_checkpoint (
      environment INTEGER NOT NULL,
      step INTEGER NOT NULL,            -- of the trainer's checkpoint
      state TEXT NOT NULL,
      PRIMARY KEY (environment, step)
    ) WITHOUT ROWID`);
  },
  (sql) => {
    sql.exec("ALTER TABLE batch ADD COLUMN trainer TEXT"); // who holds it, as it called itself
    sql.exec("ALTER TABLE batch ADD COLUMN world_size INTEGER NOT NULL DEFAULT 1"); // slices it is handed out in
    sql.exec("ALTER TABLE batch ADD COLUMN ranks TEXT NOT NULL DEFAULT '[]'"); // that have taken theirs, as JSON
    sql.exec("ALTER TABLE batch ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0"); // text of its groups
    sql.exec("ALTER TABLE batch ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0"); // how often it was served anew by a rewind
    // Requests that were taken, by the day (since 1970) on which they were; see IdempotencyKeys.
    sql.exec(`CREATE TABLE idempotency_key (
      day INTEGER NOT NULL,
      key TEXT NOT NULL,                -- "k:" and the client's, or "c:" and the SHA-256 of the contents
      groups INTEGER NOT NULL,
      verdicts TEXT,                    -- as JSON, unless all were "received"
      PRIMARY KEY (day, key)
    ) WITHOUT ROWID`);
    // Groups that left the run for no batch, for an hour.
    sql.exec(`CREATE TABLE dropped_group (
      age INTEGER PRIMARY KEY,
      environment INTEGER,
      sequences INTEGER NOT NULL,
      tokens INTEGER NOT NULL,
      policy_version INTEGER NOT NULL,
      shard INTEGER NOT NULL,
      payload INTEGER NOT NULL,
      rows INTEGER NOT NULL,
      bytes INTEGER NOT NULL,
      reason TEXT NOT NULL,
      at INTEGER NOT NULL
    )`);
    sql.exec(`CREATE TABLE handed_out (
      environment INTEGER PRIMARY KEY,  -- -1: groups that came without one
      groups INTEGER NOT NULL,
      sequences INTEGER NOT NULL,
      staleness TEXT NOT NULL           -- {steps: groups} as JSON
    )`);
  },
  (sql) => {
    sql.exec("ALTER TABLE batch ADD COLUMN rewound INTEGER NOT NULL DEFAULT 0"); // opened by a rewind, and not served since
    sql.exec("ALTER TABLE run ADD COLUMN resets INTEGER NOT NULL DEFAULT 0"); // how often the run was reset
    // The run began as a fork, or is about to.
    sql.exec(`CREATE TABLE fork (
      id INTEGER PRIMARY KEY CHECK (id = 0),
      source TEXT NOT NULL,             -- the run it is copied from
      asked_step INTEGER,               -- as the request said; null: the step the source was at
      origin TEXT NOT NULL,             -- ForkOrigin as JSON
      batch INTEGER,                    -- the group copied last, as Copied has it; null: of the queue
      place INTEGER NOT NULL,
      groups INTEGER NOT NULL,          -- copied so far
      complete INTEGER NOT NULL
    )`);
    sql.exec("ALTER TABLE environment ADD COLUMN lost_evaluations INTEGER NOT NULL DEFAULT 0"); // leases the one that is due has lost
    evaluationsInSteps(sql);
  },
  (sql) => {
    // Follow-up items of open leases, in as many rows as they need. The column of rollout_lease that held them stays empty.
    sql.exec(`CREATE TABLE follow_up (
      lease INTEGER NOT NULL,
      part INTEGER NOT NULL,
      items TEXT NOT NULL,              -- [item as JSON, …] as JSON
      PRIMARY KEY (lease, part)
    ) WITHOUT ROWID`);
    sql.exec(`INSERT INTO follow_up (lease, part, items)
      SELECT id, 0, follow_ups FROM rollout_lease WHERE outcome IS NULL AND follow_ups IS NOT NULL`);
    sql.exec("UPDATE rollout_lease SET follow_ups = NULL WHERE follow_ups IS NOT NULL");
  },
  (sql) => {
    // Written while trainers ask in vain; see StallNotes. Unix milliseconds.
    sql.exec("CREATE TABLE heard (environment INTEGER PRIMARY KEY, heard_at INTEGER NOT NULL)");
    sql.exec(`CREATE TABLE hunger (
      id INTEGER PRIMARY KEY CHECK (id = 0),
      since INTEGER NOT NULL,
      last_poll INTEGER NOT NULL,
      logged_at INTEGER
    )`);
  },
  (sql) => {
    sql.exec("ALTER TABLE batch ADD COLUMN left_at INTEGER"); // see Batch.leftAt
    sql.exec("UPDATE batch SET left_at = 0 WHERE lease_until = 0 AND epoch > 0");
  },
  (sql) => {
    sql.exec("ALTER TABLE batch ADD COLUMN given_back INTEGER"); // see Batch.givenBack
  },
];

/** `last_evaluation` was counted in multiples of `steps_per_eval`, which an environment may change. It is a step from here on. */
export function evaluationsInSteps(sql: SqlStorage): void {
  sql.exec(
    "UPDATE environment SET last_evaluation = last_evaluation * COALESCE(json_extract(leasing, '$.stepsPerEval'), 0)",
  );
}
