import type { Clock } from "../../core/clock.ts";
import type { Bucket } from "./bucket.ts";
import { attemptOfKey, TEMPLATE } from "./keys.ts";

const TAIL = 256 * 1024;
/** Copying a folder of events takes this long at most, whatever the interval. */
const SHORTEST_SILENCE = 600_000;
/** Complete ones are told by a file each; the newest of these many is looked for. */
const LOOKED_AT = 3;

/**
 * Whether checkpoints keep arriving in the bucket while training goes on: the service has been seen to stop copying without
 * a word. Null while all is well, else a sentence. Two intervals are allowed: one is being trained, one is on its way.
 */
export const arrivalProblem = async (
  bucket: Bucket,
  folder: string,
  clock: Clock,
): Promise<string | null> => {
  const { run } = attemptOfKey(folder);
  const interval = await saveInterval(bucket, folder);
  const events = await newestEvents(bucket, `${run}/events.jsonl`);
  if (interval === null || events === undefined || events.step === null) return null;
  const newest = await newestCheckpoint(bucket, `${run}/output`);
  const behind = events.step - (newest ?? 0);
  if (behind > 2 * interval) {
    const found =
      newest === null ? "no whole checkpoint is" : `the newest whole checkpoint, of step ${newest}, is`;
    return `checkpoints have stopped arriving: the log is at step ${events.step}, but ${found} in the bucket (one is due every ${interval} steps)`;
  }
  const silence = clock.now() - events.modifiedAt;
  const allowed = Math.max(SHORTEST_SILENCE, 2 * interval * (events.secondsPerStep ?? 0) * 1000);
  if (silence <= allowed) return null;
  return `nothing has arrived in the bucket for ${Math.round(silence / 60_000)} minutes: neither events nor checkpoints, the last at step ${events.step}`;
};

async function saveInterval(bucket: Bucket, folder: string): Promise<number | null> {
  const text = await bucket
    .readText(`${folder}/${TEMPLATE}`)
    .then((found) => found ?? bucket.readText(`${folder}/job.json`));
  const value = numberAt(parsed(text ?? ""), ["manifest", "training", "saveEverySteps"]);
  return value ?? numberAt(parsed(text ?? ""), ["training", "saveEverySteps"]);
}

interface Newest {
  readonly modifiedAt: number;
  readonly step: number | null;
  readonly secondsPerStep: number | null;
}

async function newestEvents(bucket: Bucket, key: string): Promise<Newest | undefined> {
  const head = await bucket.head(key);
  if (head === undefined) return undefined;
  const bytes = await bucket.read(key, Math.max(0, head.bytes - TAIL));
  // A cut first line, and a last one that is being written, are no JSON.
  const steps = Buffer.from(bytes ?? [])
    .toString("utf8")
    .split("\n")
    .map(parsed)
    .filter((event) => textAt(event, "type") === "step");
  const last = steps.at(-1);
  return {
    modifiedAt: head.modifiedAt,
    step: numberAt(last, ["step"]),
    secondsPerStep: numberAt(last, ["secondsPerStep"]),
  };
}

async function newestCheckpoint(bucket: Bucket, output: string): Promise<number | null> {
  const steps = (await bucket.folders(output))
    .map((name) => Number(/^checkpoint-(\d+)$/.exec(name)?.[1] ?? Number.NaN))
    .filter((step) => !Number.isNaN(step))
    .toSorted((a, b) => b - a);
  for (const step of steps.slice(0, LOOKED_AT))
    if ((await bucket.head(`${output}/checkpoint-${step}/_COMPLETE.json`)) !== undefined) return step;
  return null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function numberAt(value: unknown, path: readonly string[]): number | null {
  let found = value;
  for (const key of path) found = member(found, key);
  return typeof found === "number" ? found : null;
}

const textAt = (value: unknown, key: string): string | null => {
  const found = member(value, key);
  return typeof found === "string" ? found : null;
};

const member = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? Reflect.get(value, key)
    : undefined;
