import { randomUUID } from "node:crypto";
import { isoTime } from "../core/clock.ts";
import { InternalError } from "../core/errors.ts";
import { markerOf } from "../launch/index.ts";
import { AttemptRow } from "./rows.ts";
import type { Attempt } from "./schema.ts";
import { jsonText, type StoreParts } from "./store-parts.ts";
import type { Store } from "./store.ts";

type AttemptTable = Pick<Store, "addAttempt" | "updateAttempt" | "endAttempt" | "attempts" | "openAttempts">;

/** The table `attempts`. An ended attempt is never changed: a trigger of the database says so too. */
export const attemptTable = ({ database, clock, guarded, addEvent }: StoreParts): AttemptTable => {
  const attempts = (runId: string): Attempt[] =>
    database.all(AttemptRow, "SELECT * FROM attempts WHERE run_id = ? ORDER BY number", runId);
  const only = (runId: string, number: number): Attempt => {
    const attempt = attempts(runId).find((candidate) => candidate.number === number);
    if (attempt) return attempt;
    throw new InternalError("ATTEMPT_UNKNOWN", `Run ${runId} has no attempt ${number}`);
  };
  const open = (runId: string, number: number): Attempt => {
    const attempt = only(runId, number);
    if (attempt.endedAt === null) return attempt;
    throw new InternalError("ATTEMPT_ENDED", `Attempt ${number} of run ${runId} ended at ${attempt.endedAt}`);
  };
  return {
    attempts,
    openAttempts: () =>
      database.all(AttemptRow, "SELECT * FROM attempts WHERE ended_at IS NULL ORDER BY run_id, number"),
    addAttempt: (lease, { token = randomUUID(), refs = null } = {}) =>
      guarded(lease, () => {
        const { runId } = lease;
        const last = attempts(runId).at(-1);
        if (last && last.endedAt === null) {
          throw new InternalError("ATTEMPT_OPEN", `Attempt ${last.number} of run ${runId} has not ended`);
        }
        const number = (last?.number ?? 0) + 1;
        const marker = markerOf(runId, number);
        database.run(
          `INSERT INTO attempts (run_id, number, marker, token, refs, started_at, evidence)
           VALUES (?, ?, ?, ?, ?, ?, 'null')`,
          runId,
          number,
          marker,
          token,
          jsonText(refs),
          isoTime(clock),
        );
        addEvent(runId, { type: "attempt.opened", attempt: number, data: { marker } });
        return only(runId, number);
      }),
    updateAttempt: (lease, number, { refs, evidence }) =>
      guarded(lease, () => {
        const before = open(lease.runId, number);
        database.run(
          "UPDATE attempts SET refs = ?, evidence = ? WHERE run_id = ? AND number = ?",
          jsonText(refs === undefined ? before.refs : refs),
          jsonText(evidence === undefined ? before.evidence : evidence),
          lease.runId,
          number,
        );
        return only(lease.runId, number);
      }),
    endAttempt: (lease, number, { reason, exitCode, evidence }) =>
      guarded(lease, () => {
        const { runId } = open(lease.runId, number);
        database.run(
          "UPDATE attempts SET ended_at = ?, reason = ?, exit_code = ?, evidence = ? WHERE run_id = ? AND number = ?",
          isoTime(clock),
          reason,
          exitCode,
          jsonText(evidence),
          runId,
          number,
        );
        addEvent(runId, { type: "attempt.ended", attempt: number, data: { reason, exitCode } });
        return only(runId, number);
      }),
  };
};
