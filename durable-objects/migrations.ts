/**
 * Schema steps, oldest first. A step that has been released is never edited: a change is a new step at the end.
 * Each runs once an object, in one transaction with the note that it ran.
 */
export type Migrations = readonly ((sql: SqlStorage) => void)[];

/**
 * Brings an object's tables up to date. Called in the constructor, before any request is let in.
 * @throws when the object was written by a newer release, which this one must not touch.
 */
export function migrate(storage: DurableObjectStorage, steps: Migrations): void {
  const { sql } = storage;
  sql.exec(
    "CREATE TABLE IF NOT EXISTS schema_version (id INTEGER PRIMARY KEY CHECK (id = 0), version INTEGER NOT NULL)",
  );
  const version = sql.exec<{ version: number }>("SELECT version FROM schema_version").toArray()[0]?.version ?? 0;
  if (version > steps.length) {
    throw new Error(
      `stored schema version ${version} is newer than this release knows (${steps.length}): deploy a newer release`,
    );
  }
  for (const [index, step] of steps.entries()) {
    if (index < version) continue;
    storage.transactionSync(() => {
      step(sql);
      sql.exec(
        "INSERT INTO schema_version (id, version) VALUES (0, ?1) ON CONFLICT (id) DO UPDATE SET version = ?1",
        index + 1,
      );
    });
  }
}
