import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import Libsql from "libsql";
import type { z } from "zod";
import { messageOf, RemoteError, systemCode, UserError } from "../core/errors.ts";

export type Value = string | number | null;

/** The little of a SQLite library that we use; this file is the only one that knows which library it is. */
export interface Database {
  /** Runs statements without parameters. */
  exec(sql: string): void;
  /** Runs one statement; the number of rows it changed. */
  run(sql: string, ...values: readonly Value[]): number;
  /** All rows of a query through a schema. */
  all<Schema extends z.ZodType>(schema: Schema, sql: string, ...values: readonly Value[]): z.output<Schema>[];
  /** The first row, or undefined. */
  first<Schema extends z.ZodType>(
    schema: Schema,
    sql: string,
    ...values: readonly Value[]
  ): z.output<Schema> | undefined;
  /** All of `work` or nothing of it; the write lock is taken at once, so what it reads stays true. */
  transaction<Result>(work: () => Result): Result;
  close(): void;
}

const BUSY_MILLISECONDS = 15_000;
const MOST_STATEMENTS = 200;

/**
 * Opens or makes the file: WAL, and FULL synchronisation, so that what was written before an effect is on disk when the
 * effect happens. `check` may refuse the file before anything in it is changed: the journal mode alone changes it.
 * UserErrors `STORE_UNREADABLE` when the file is no database, `STORE_UNWRITABLE`; RemoteError `STORE_BUSY`.
 */
export const openDatabase = (path: string, check: (database: Database) => void = () => {}): Database => {
  mkdirSync(dirname(path), { recursive: true });
  try {
    const library = new Libsql(path, { timeout: BUSY_MILLISECONDS });
    const database = wrap(library, path);
    check(database);
    for (const pragma of ["journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"]) {
      library.prepare(`PRAGMA ${pragma}`).all();
    }
    return database;
  } catch (error) {
    throw translated(error, path);
  }
};

/** Opens a file that is there to read from it: nothing is made, migrated or waited for. Errors as above. */
export const openToRead = (path: string): Database => {
  try {
    return wrap(new Libsql(path, { readonly: true, fileMustExist: true, timeout: READ_MILLISECONDS }), path);
  } catch (error) {
    throw translated(error, path);
  }
};

const READ_MILLISECONDS = 200;

function wrap(library: Libsql.Database, path: string): Database {
  const guard = <Result>(work: () => Result): Result => {
    try {
      return work();
    } catch (error) {
      throw translated(error, path);
    }
  };
  // Statements live outside of JavaScript's heap, and thousands of them are made before anybody collects them.
  const statements = new Map<string, Libsql.Statement>();
  const prepared = (sql: string): Libsql.Statement => {
    const present = statements.get(sql);
    if (present) return present;
    const made = library.prepare(sql);
    if (statements.size < MOST_STATEMENTS) statements.set(sql, made);
    return made;
  };
  const all: Database["all"] = (schema, sql, ...values) =>
    guard(() => prepared(sql).all(...values)).map((row) => schema.parse(row));
  return {
    exec: (sql) => {
      guard(() => library.exec(sql));
    },
    run: (sql, ...values) => guard(() => prepared(sql).run(...values)).changes,
    all,
    // `get` of this library adds a column of its own.
    first: (schema, sql, ...values) => all(schema, sql, ...values)[0],
    transaction: (work) => {
      guard(() => library.exec("BEGIN IMMEDIATE"));
      try {
        const result = work();
        guard(() => library.exec("COMMIT"));
        return result;
      } catch (error) {
        // A full disk has ended the transaction already.
        if (library.inTransaction) library.exec("ROLLBACK");
        throw error;
      }
    },
    close: () => {
      statements.clear();
      library.close();
    },
  };
}

function translated(error: unknown, path: string): unknown {
  const code = systemCode(error) ?? "";
  if (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED")) {
    return new RemoteError("STORE_BUSY", `The run store ${path} is in use by another process`, {
      hint: "try again; nothing was changed",
      cause: error,
    });
  }
  if (code.startsWith("SQLITE_NOTADB") || code.startsWith("SQLITE_CORRUPT")) {
    return new UserError("STORE_UNREADABLE", `${path} is not a readable run store: ${messageOf(error)}`, {
      hint: "move the file away and start again; the runs' own folders are untouched",
      cause: error,
    });
  }
  if (code.startsWith("SQLITE_FULL")) {
    return new UserError("DISK_FULL", `No space left while writing ${path}`, {
      hint: "free some space and run the same command again: nothing that was finished is lost",
      cause: error,
    });
  }
  if (
    code.startsWith("SQLITE_CANTOPEN") ||
    code.startsWith("SQLITE_READONLY") ||
    CANNOT_OPEN.test(messageOf(error))
  ) {
    return new UserError("STORE_UNWRITABLE", `The run store ${path} cannot be opened for writing`, {
      hint: "check that it is a file you may write, or set UNDERSTUDY_STATE to another folder",
      cause: error,
    });
  }
  return error;
}

// What this library says, without a code, when the system does not open the file.
const CANNOT_OPEN = /Unable to open connection to local database/;
