import type { Migrations } from "../migrations.ts";

export const migrations: Migrations = [
  (sql) => {
    // The key is payload * 4096 + row (see rowId): one integer, so one b-tree and one billed write a row.
    sql.exec("CREATE TABLE payload_row (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL)");
    // Commits the Run has not confirmed: [[CommittedGroup, …], …] as JSON. Sent again, in order, after a restart.
    sql.exec("CREATE TABLE unconfirmed_commit (sequence INTEGER PRIMARY KEY, requests TEXT NOT NULL)");
    // Payloads that came as uploads, until they are let go: the commit they went with, or null while they are under way.
    sql.exec("CREATE TABLE upload (payload INTEGER PRIMARY KEY, commit_sequence INTEGER)");
    sql.exec(`CREATE TABLE shard (
      id INTEGER PRIMARY KEY CHECK (id = 0),
      next_payload INTEGER NOT NULL,
      next_commit INTEGER NOT NULL
    )`);
  },
  (sql) => {
    // A row has to stay below 2 MB, so a commit of many groups has several: together the JSON that was one row before.
    sql.exec(`CREATE TABLE commit_part (
      sequence INTEGER NOT NULL,
      part INTEGER NOT NULL,
      bytes BLOB NOT NULL,
      PRIMARY KEY (sequence, part)
    ) WITHOUT ROWID`);
    sql.exec("INSERT INTO commit_part SELECT sequence, 0, CAST(requests AS BLOB) FROM unconfirmed_commit");
    sql.exec("DROP TABLE unconfirmed_commit");
  },
];
