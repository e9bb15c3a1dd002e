import type { Clock } from "../core/clock.ts";
import { attemptTable } from "./attempt-table.ts";
import { openDatabase } from "./database.ts";
import { eventTable } from "./event-table.ts";
import { acquireLease, releaseLease, renewLease } from "./leases.ts";
import { migrate, requireKnown } from "./migrations.ts";
import { mirrorTable } from "./mirror-table.ts";
import { runTable } from "./run-table.ts";
import { storeParts } from "./store-parts.ts";
import type { Store } from "./store.ts";

/**
 * Opens the run store of a project, making or migrating it as needed. Any number of processes may have it open. Errors:
 * `STORE_TOO_NEW`, `STORE_FOREIGN`, `STORE_UNREADABLE`, `STORE_BUSY`.
 */
export const openStore = (path: string, clock: Clock): Store => {
  const database = openDatabase(path, (opened) => requireKnown(opened, path));
  try {
    migrate(database, path);
  } catch (error) {
    database.close();
    throw error;
  }
  const parts = storeParts(database, clock);
  return {
    ...runTable(parts),
    ...attemptTable(parts),
    ...eventTable(parts),
    mirrors: mirrorTable(parts),
    acquireLease: (runId, request) =>
      database.transaction(() => {
        parts.getRun(runId);
        const answer = acquireLease(database, clock, runId, request);
        if (answer.outcome === "acquired" && answer.takenFrom !== null) {
          const data = { from: answer.takenFrom, to: request.owner };
          parts.addEvent(runId, { type: "lease.taken_over", data });
        }
        return answer;
      }),
    renewLease: (lease, milliseconds) =>
      database.transaction(() => renewLease(database, clock, lease, milliseconds)),
    releaseLease: (lease) => {
      releaseLease(database, lease);
    },
    close: () => {
      database.close();
    },
  };
};
