import { z } from "zod";
import { isoTime } from "../core/clock.ts";
import type { Value } from "./database.ts";
import type { PayloadLine } from "./payload-lines.ts";
import { EventRow, MetricRow } from "./rows.ts";
import type { StoreParts } from "./store-parts.ts";
import type { EventFilter, Store } from "./store.ts";

type EventTable = Pick<Store, "appendEvent" | "events" | "cursor" | "ingest" | "metrics" | "series">;

const Position = z.object({ position: z.int() });
const Point = z.object({ step: z.int(), value: z.number() });

/** The tables `events`, `metrics` and `cursors`: what a run has said so far. */
export const eventTable = (parts: StoreParts): EventTable => {
  const { database, guarded, addEvent } = parts;
  const cursor = (runId: string, stream: string): number =>
    database.first(Position, "SELECT position FROM cursors WHERE run_id = ? AND stream = ?", runId, stream)
      ?.position ?? 0;
  return {
    cursor,
    appendEvent: (lease, { type, attempt, data }) => {
      guarded(lease, () => {
        addEvent(lease.runId, { type, attempt: attempt ?? null, data });
      });
    },
    events: (runId, filter = {}) => {
      const { where, values } = conditions(runId, filter);
      return database.all(
        EventRow,
        `SELECT * FROM events WHERE ${where} ORDER BY sequence LIMIT ?`,
        ...values,
        filter.limit ?? -1,
      );
    },
    ingest: (lease, { stream, from, to, lines }) =>
      guarded(lease, () => {
        const { runId } = lease;
        if (cursor(runId, stream) !== from) return false;
        for (const line of lines) takeIn(parts, runId, line);
        database.run(
          "INSERT OR REPLACE INTO cursors (run_id, stream, position) VALUES (?, ?, ?)",
          runId,
          stream,
          to,
        );
        return true;
      }),
    metrics: (runId, name) =>
      database.all(
        MetricRow,
        `SELECT * FROM metrics WHERE run_id = ? AND (? IS NULL OR name = ?) ORDER BY name, step, attempt`,
        runId,
        name ?? null,
        name ?? null,
      ),
    series: (runId, name) =>
      database.all(
        Point,
        `SELECT step, value, max(attempt) FROM metrics WHERE run_id = ? AND name = ? GROUP BY step ORDER BY step`,
        runId,
        name,
      ),
  };
};

function takeIn({ database, clock, addEvent }: StoreParts, runId: string, line: PayloadLine): void {
  const { type, attempt, at, data, metrics } = line;
  addEvent(runId, { type, attempt, at, data });
  for (const { name, step, value } of metrics) {
    database.run(
      "INSERT OR REPLACE INTO metrics (run_id, attempt, step, name, value, at) VALUES (?, ?, ?, ?, ?, ?)",
      runId,
      attempt ?? 0,
      step,
      name,
      value,
      at ?? isoTime(clock),
    );
  }
}

function conditions(
  runId: string,
  { after, types, attempt }: EventFilter,
): { where: string; values: Value[] } {
  const all: [string, Value[]][] = [["run_id = ?", [runId]]];
  if (after !== undefined) all.push(["sequence > ?", [after]]);
  if (attempt !== undefined) all.push(["attempt = ?", [attempt]]);
  if (types !== undefined) all.push([`type IN (${types.map(() => "?").join(", ")})`, [...types]]);
  return { where: all.map(([text]) => text).join(" AND "), values: all.flatMap(([, values]) => values) };
}
