import { z } from "zod";
import { isoTime } from "../core/clock.ts";
import { InternalError } from "../core/errors.ts";
import type { Value } from "./database.ts";
import { RunHeadRow, RunRow } from "./rows.ts";
import { TERMINAL_STATES } from "./schema.ts";
import { jsonText, type StoreParts } from "./store-parts.ts";
import { mayGo } from "./states.ts";
import type { RunFilter, Store } from "./store.ts";

type RunTable = Pick<
  Store,
  | "createRun"
  | "getRun"
  | "findRun"
  | "listRuns"
  | "runNames"
  | "watchedRuns"
  | "requestStop"
  | "transition"
  | "clearStop"
  | "markSeen"
  | "markAllSeen"
>;

const NameRow = z
  .object({ id: z.string(), parent_id: z.string().nullable() })
  .transform(({ id, parent_id }) => ({ id, parentId: parent_id }));

// A blocked run has ended only as long as what it waits for has.
const OVER = TERMINAL_STATES.filter((state) => state !== "blocked");

/** The table `runs`. */
export const runTable = (parts: StoreParts): RunTable => {
  const { database, clock, findRun, getRun, guarded, addEvent } = parts;
  return {
    findRun,
    getRun,
    createRun: (run) =>
      database.transaction(() => {
        const now = isoTime(clock);
        database.run(
          `INSERT INTO runs (id, kind, name, state, reason, recipe_digest, lock, parent_id, pipeline_id, created_at, updated_at)
           VALUES (?, ?, ?, 'draft', 'created', ?, ?, ?, ?, ?, ?)`,
          run.id,
          run.kind,
          run.name,
          run.recipeDigest,
          jsonText(run.lock),
          run.parentId ?? null,
          run.pipelineId ?? null,
          now,
          now,
        );
        addEvent(run.id, { type: "run.created", data: { kind: run.kind, name: run.name } });
        return getRun(run.id);
      }),
    listRuns: (filter = {}) => {
      const { where, values } = conditions(filter);
      return database.all(
        RunRow,
        `SELECT * FROM runs ${where} ORDER BY created_at DESC, rowid DESC`,
        ...values,
      );
    },
    runNames: (prefix = "") =>
      database.all(
        NameRow,
        "SELECT id, parent_id FROM runs WHERE substr(id, 1, length(?)) = ? ORDER BY created_at DESC, rowid DESC",
        prefix,
        prefix,
      ),
    watchedRuns: () =>
      database.all(
        RunHeadRow,
        `SELECT id, kind, state, reason, parent_id, stop_requested, stop_now, last_seen_at FROM runs
         WHERE state NOT IN (${OVER.map(() => "?").join(", ")}) ORDER BY created_at, rowid`,
        ...OVER,
      ),
    requestStop: (id, mode = "graceful") => {
      database.transaction(() => {
        const { stopRequested, stopNow } = getRun(id);
        // Whoever asked for the end at once is not content with less afterwards.
        if (stopNow || (stopRequested && mode === "graceful")) return;
        database.run(
          "UPDATE runs SET stop_requested = 1, stop_now = ?, updated_at = ? WHERE id = ?",
          mode === "now" ? 1 : 0,
          isoTime(clock),
          id,
        );
        addEvent(id, { type: "run.stop_requested", data: { mode } });
      });
    },
    transition: (lease, { from, to, reason }) =>
      guarded(lease, () => {
        const { state, id } = getRun(lease.runId);
        if (state !== from) {
          throw new InternalError(
            "STATE_CHANGED",
            `Run ${id} is ${state}, not ${from}: it cannot become ${to}`,
          );
        }
        if (!mayGo(from, to)) {
          throw new InternalError("TRANSITION_ILLEGAL", `Run ${id} cannot go from ${from} to ${to}`);
        }
        const now = isoTime(clock);
        database.run(
          "UPDATE runs SET state = ?, reason = ?, updated_at = ? WHERE id = ?",
          to,
          reason,
          now,
          id,
        );
        if (from !== to) addEvent(id, { type: "run.state", data: { from, to, reason } });
        return getRun(id);
      }),
    clearStop: (lease) => {
      guarded(lease, () => {
        database.run("UPDATE runs SET stop_requested = 0, stop_now = 0 WHERE id = ?", lease.runId);
        addEvent(lease.runId, { type: "run.stop_withdrawn", data: {} });
      });
    },
    markAllSeen: (ids) => {
      if (ids.length === 0) return;
      database.run(
        "UPDATE runs SET last_seen_at = ? WHERE id IN (SELECT value FROM json_each(?))",
        isoTime(clock),
        JSON.stringify(ids),
      );
    },
    markSeen: (lease) => {
      guarded(lease, () =>
        database.run("UPDATE runs SET last_seen_at = ? WHERE id = ?", isoTime(clock), lease.runId),
      );
    },
  };
};

function conditions({ pipelineId, kind, states }: RunFilter): { where: string; values: Value[] } {
  const all: [string, Value[]][] = [];
  if (pipelineId !== undefined) all.push(["pipeline_id = ?", [pipelineId]]);
  if (kind !== undefined) all.push(["kind = ?", [kind]]);
  if (states !== undefined) all.push([`state IN (${states.map(() => "?").join(", ")})`, [...states]]);
  const where = all.length === 0 ? "" : `WHERE ${all.map(([condition]) => condition).join(" AND ")}`;
  return { where, values: all.flatMap(([, values]) => values) };
}
