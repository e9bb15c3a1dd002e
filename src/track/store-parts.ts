import { isoTime, type Clock } from "../core/clock.ts";
import { UserError } from "../core/errors.ts";
import type { Database } from "./database.ts";
import { assertHeld, type Lease } from "./leases.ts";
import { RunRow } from "./rows.ts";
import type { Run } from "./schema.ts";

/** What the tables of the store share. */
export interface StoreParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly findRun: (id: string) => Run | undefined;
  readonly getRun: (id: string) => Run;
  /** Runs `work` in a transaction that fails when the lease is lost. */
  readonly guarded: <Result>(lease: Lease, work: () => Result) => Result;
  readonly addEvent: (runId: string, event: NewEvent) => void;
}

export interface NewEvent {
  readonly type: string;
  readonly data: unknown;
  readonly attempt?: number | null;
  /** Default: now. */
  readonly at?: string | null;
}

export const storeParts = (database: Database, clock: Clock): StoreParts => {
  const findRun: StoreParts["findRun"] = (id) =>
    database.first(RunRow, "SELECT * FROM runs WHERE id = ?", id);
  return {
    database,
    clock,
    findRun,
    getRun: (id) => {
      const run = findRun(id);
      if (run) return run;
      throw new UserError("RUN_UNKNOWN", `There is no run "${id}"`, {
        hint: "understudy run list shows all runs",
      });
    },
    guarded: (lease, work) =>
      database.transaction(() => {
        assertHeld(database, lease);
        return work();
      }),
    addEvent: (runId, { type, data, attempt = null, at }) => {
      const insert = "INSERT INTO events (run_id, attempt, at, type, data) VALUES (?, ?, ?, ?, ?)";
      database.run(insert, runId, attempt, at ?? isoTime(clock), type, jsonText(data));
    },
  };
};

/** JSON of any value; what JSON does not know becomes null. */
export const jsonText = (value: unknown): string => JSON.stringify(value) ?? "null";
