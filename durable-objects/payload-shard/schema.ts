import type { Migrations } from "../migrations.ts";

export const migrations: Migrations = [
  (sql) => {
    // The key is payload * 4096 + row (see rowId): one integer, so one b-tree and one billed write a row.
    sql.exec("CREATE TABLE payload_row (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)");
    // Commits the Run has not confirmed: [[CommittedGroup, …], …] as JSON. Sent again, in order, after a restart.
    sql.exec("CREATE TABLE unconfirmed_commit (sequence INTEGER PRIMARY KEY, requests TEXT NOT NULL)");
    // Payloads of uploads in progress. What is still here when the object starts belongs to nobody.
    sql.exec("CREATE TABLE upload (payload INTEGER PRIMARY KEY)");
    sql.exec(`CREATE TABLE shard (
      id INTEGER PRIMARY KEY CHECK (id = 0),
      next_payload INTEGER NOT NULL,
      next_commit INTEGER NOT NULL
    )`);
  },
];
