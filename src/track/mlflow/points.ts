import type { RunEvent } from "../schema.ts";
import { namedValues } from "../payload-lines.ts";
import type { Point } from "./client.ts";

/** Types of events that decide which points there are. */
export const POINT_EVENTS = ["started", "resumed", "step", "eval", "checkpoint", "finished"];

/** Highest step that is there, by key. */
export type Marks = Readonly<Record<string, number>>;

export interface DuePoints {
  /** In the order in which they are to be sent: by key, never backwards. */
  readonly points: readonly Point[];
  /** Sequence of the last event that nothing more comes of; null: none new. */
  readonly settled: number | null;
}

interface Held {
  readonly sequence: number;
  readonly attempt: number;
  readonly point: Point;
}

/**
 * What is to be shown of a run, each step once. A point is final once a complete checkpoint covers it: until then the
 * attempt may die, and another one repeats the step with the value that is true of its checkpoints. Under `live/` loss and
 * gradient norm stand as they come, from whichever attempt came first. Pure: the events after the last settled one, and
 * what is there already.
 */
export const duePoints = (events: readonly RunEvent[], marks: Marks): DuePoints => {
  const due = collector(marks);
  let held: Held[] = [];
  let settled: number | null = null;
  let current = 0;
  for (const event of events) {
    const attempt = event.attempt ?? 0;
    // A line of one that had lost the run, written before it knew.
    if (attempt < current) continue;
    current = attempt;
    for (const point of pointsOf(event)) {
      held.push({ sequence: event.sequence, attempt, point });
      due.live(point);
    }
    const covered = coveredBy(event);
    if (covered === null) continue;
    const { mine, step } = covered;
    due.final(held.filter(({ attempt: of, point }) => (of === attempt) === mine && point.step <= step));
    // Of attempts before this one nothing else is true of what it goes on from.
    held = held.filter(({ attempt: of, point }) => of === attempt && (!mine || point.step > step));
    settled = held[0] === undefined ? event.sequence : Math.min(event.sequence, held[0].sequence - 1);
  }
  return { points: due.all(), settled };
};

/** Which points an event makes final: up to a step, of its own attempt or of those before it. */
function coveredBy({ type, data }: RunEvent): { readonly mine: boolean; readonly step: number } | null {
  if (type === "finished") return { mine: true, step: Infinity };
  if (type !== "checkpoint" && type !== "resumed") return null;
  const step = fieldsOf(data)["step"];
  return typeof step === "number" ? { mine: type === "checkpoint", step } : null;
}

const LIVE: Readonly<Record<string, string>> = {
  "train/loss": "live/loss",
  "train/grad_norm": "live/grad_norm",
};

function collector(marks: Marks): {
  live(point: Point): void;
  final(held: readonly Held[]): void;
  all(): readonly Point[];
} {
  const reached = new Map(Object.entries(marks));
  const points: Point[] = [];
  const take = (point: Point): void => {
    if (point.step <= (reached.get(point.key) ?? -1)) return;
    reached.set(point.key, point.step);
    points.push(point);
  };
  return {
    live: (point) => {
      const key = LIVE[point.key];
      if (key !== undefined) take({ ...point, key });
    },
    // Where several attempts have the step, the newest one's value.
    final: (held) => {
      const order = held.toSorted((a, b) => a.point.step - b.point.step || b.attempt - a.attempt);
      for (const { point } of order) take(point);
    },
    all: () => points,
  };
}

function pointsOf({ type, data, at }: RunEvent): Point[] {
  const time = Date.parse(at);
  const timestamp = Number.isFinite(time) ? Math.max(0, time) : 0;
  return namedValues(type, fieldsOf(data)).flatMap(({ name, step, value }) => {
    const number = valueOf(value);
    return number === undefined ? [] : [{ key: keyOf(name), step, value: number, timestamp }];
  });
}

function valueOf(value: unknown): Point["value"] | undefined {
  if (value === "NaN" || value === "Infinity" || value === "-Infinity") return value;
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

// The field calls it so; and a name that MLflow takes.
const keyOf = (name: string): string =>
  name
    .replace(/^dev\//, "eval/")
    .replaceAll(/[^A-Za-z0-9_\-. /]/g, "_")
    .slice(0, 250);

function fieldsOf(data: unknown): Readonly<Record<string, unknown>> {
  return typeof data === "object" && data !== null ? Object.fromEntries(Object.entries(data)) : {};
}
