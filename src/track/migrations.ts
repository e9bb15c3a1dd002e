import { z } from "zod";
import { UserError } from "../core/errors.ts";
import type { Database } from "./database.ts";

// Marks the file as ours ("undy"), so that a stray database is not taken for an empty store.
const APPLICATION = 0x756e6479;

/** Number n is at index n - 1. Never changed once released: a new version appends one. */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE runs (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
    recipe_digest TEXT, lock TEXT NOT NULL, parent_id TEXT, pipeline_id TEXT,
    stop_requested INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, last_seen_at TEXT
  ) STRICT;
  CREATE INDEX runs_by_pipeline ON runs (pipeline_id);

  CREATE TABLE attempts (
    run_id TEXT NOT NULL REFERENCES runs (id), number INTEGER NOT NULL,
    marker TEXT NOT NULL UNIQUE, token TEXT NOT NULL, refs TEXT NOT NULL,
    started_at TEXT NOT NULL, ended_at TEXT, reason TEXT, exit_code INTEGER, evidence TEXT NOT NULL,
    PRIMARY KEY (run_id, number)
  ) STRICT;
  CREATE TRIGGER attempts_end_once BEFORE UPDATE ON attempts WHEN OLD.ended_at IS NOT NULL
    BEGIN SELECT RAISE (ABORT, 'an ended attempt is never changed'); END;

  CREATE TABLE events (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL REFERENCES runs (id), attempt INTEGER, at TEXT NOT NULL, type TEXT NOT NULL, data TEXT NOT NULL
  ) STRICT;
  CREATE INDEX events_by_run ON events (run_id, sequence);
  CREATE TRIGGER events_stay BEFORE UPDATE ON events
    BEGIN SELECT RAISE (ABORT, 'events are only appended'); END;
  CREATE TRIGGER events_are_kept BEFORE DELETE ON events
    BEGIN SELECT RAISE (ABORT, 'events are only appended'); END;

  CREATE TABLE metrics (
    run_id TEXT NOT NULL REFERENCES runs (id), attempt INTEGER NOT NULL, step INTEGER NOT NULL,
    name TEXT NOT NULL, value REAL NOT NULL, at TEXT NOT NULL,
    PRIMARY KEY (run_id, name, step, attempt)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE leases (
    run_id TEXT PRIMARY KEY REFERENCES runs (id), owner TEXT NOT NULL, token TEXT NOT NULL, expires_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE cursors (
    run_id TEXT NOT NULL REFERENCES runs (id), stream TEXT NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (run_id, stream)
  ) STRICT;
  `,
  // A stop that does not wait for a save, kept for whoever acts on it.
  "ALTER TABLE runs ADD COLUMN stop_now INTEGER NOT NULL DEFAULT 0",
  // How far runs have been copied to tracking servers.
  `
  CREATE TABLE mirrors (
    run_id TEXT NOT NULL REFERENCES runs (id), target TEXT NOT NULL,
    experiment_id TEXT, remote_id TEXT, asked_at INTEGER, doubtful INTEGER NOT NULL DEFAULT 0,
    seen INTEGER NOT NULL DEFAULT 0, settled INTEGER NOT NULL DEFAULT 0,
    marks TEXT NOT NULL DEFAULT '{}', told TEXT NOT NULL DEFAULT '{}', trouble TEXT, trouble_since TEXT,
    owner TEXT, token TEXT, expires_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, target)
  ) STRICT;
  `,
];

export const STORE_VERSION = MIGRATIONS.length;

/**
 * Brings the file to this program's version, each step in a transaction of its own. UserErrors `STORE_TOO_NEW` when a newer
 * program has written it, `STORE_FOREIGN` when it is somebody else's database.
 */
export const migrate = (
  database: Database,
  path: string,
  migrations: readonly string[] = MIGRATIONS,
): void => {
  const known = migrations.length;
  for (let version = requireKnown(database, path, known); version < known; version++) {
    database.transaction(() => {
      // Another process may have done this step while we waited for the lock.
      if (versionOf(database, path) !== version) return;
      database.exec(
        `${migrations[version] ?? ""}; PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${version + 1}`,
      );
    });
  }
};

/** The version of a store that this program knows, 0 for an empty file; the errors are those of `migrate`. */
export const requireKnown = (database: Database, path: string, known = STORE_VERSION): number => {
  const version = versionOf(database, path);
  if (version > known) throw tooNew(path, version, known);
  return version;
};

const Head = z.object({ application: z.int(), version: z.int(), tables: z.int() });

// One statement, so that what another process writes in between cannot make half of it old.
const HEAD = `
  SELECT (SELECT application_id FROM pragma_application_id) AS application,
    (SELECT user_version FROM pragma_user_version) AS version, (SELECT count(*) FROM sqlite_master) AS tables`;

function versionOf(database: Database, path: string): number {
  const { application, version, tables } = database.first(Head, HEAD) ?? {
    application: 0,
    version: 0,
    tables: 0,
  };
  if (application === APPLICATION || (version === 0 && tables === 0)) return version;
  throw new UserError("STORE_FOREIGN", `${path} is a database, but not a run store`, {
    hint: "set UNDERSTUDY_STATE to another folder, or move the file away",
  });
}

function tooNew(path: string, version: number, known: number): UserError {
  return new UserError(
    "STORE_TOO_NEW",
    `The run store ${path} was written by a newer version (store version ${version}, this program knows ${known})`,
    { hint: "update this program, or set UNDERSTUDY_STATE to another folder" },
  );
}
