import { stat } from "node:fs/promises";
import { hostname } from "node:os";
import type { Clock } from "../../core/clock.ts";
import { messageOf, systemCode } from "../../core/errors.ts";
import { parseJson, readIfExists } from "../../core/files.ts";
import { claimFolder, layoutAt, type AttemptLayout } from "../attempt-layout.ts";
import { bootId, isForeign, isRunning } from "../../core/process-identity.ts";
import { WrapperResult, type JobRef, type Observation } from "../schema.ts";
import { jobProcesses, Supervisor } from "../supervisor.ts";

// From mkdir to supervisor.json it is milliseconds; after this long nobody is coming any more.
const START_DEADLINE = 60_000;

/** What can be seen of an attempt now. Anything unreadable is `unavailable`, which proves nothing. */
export const observeLocal = async (ref: JobRef, clock: Clock): Promise<Observation> => {
  const layout = layoutAt(ref.folder);
  try {
    const before = await readResult(layout, ref);
    if (before) return before;
    const supervisor = await readSupervisor(layout, ref);
    if (supervisor === undefined) return await unreported(layout, ref, clock);
    const alive = await sign(supervisor, layout);
    if (alive) return alive;
    // It may have written its result while we looked at its process.
    const after = await readResult(layout, ref);
    return after ?? { phase: "ended", result: null, detail: "killed without a trace" };
  } catch (error) {
    return { phase: "unavailable", detail: messageOf(error) };
  }
};

/** Who supervises an attempt, or undefined when nobody has reported. Throws when the record is another job's. */
export const readSupervisor = async (layout: AttemptLayout, ref: JobRef): Promise<Supervisor | undefined> => {
  const text = await readIfExists(layout.supervisor);
  if (text === undefined) return undefined;
  const supervisor = parseJson(text, Supervisor, layout.supervisor);
  if (supervisor.marker !== ref.marker)
    throw new Error(`${layout.supervisor} belongs to ${supervisor.marker}`);
  return supervisor;
};

/** When a marker was claimed (milliseconds since the epoch), or undefined when it was not. Throws when that cannot be told. */
export const claimTime = async (layout: AttemptLayout, marker: string): Promise<number | undefined> => {
  try {
    return (await stat(claimFolder(layout, marker))).mtimeMs;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw error;
  }
};

async function readResult(layout: AttemptLayout, ref: JobRef): Promise<Observation | undefined> {
  const text = await readIfExists(layout.result);
  if (text === undefined) return undefined;
  const result = parseJson(text, WrapperResult, layout.result);
  if (result.marker !== ref.marker) throw new Error(`${layout.result} belongs to ${result.marker}`);
  const how = result.signal ?? `exit ${result.exitCode}`;
  return { phase: "ended", result, detail: result.detail === "" ? how : `${how}: ${result.detail}` };
}

async function unreported(layout: AttemptLayout, ref: JobRef, clock: Clock): Promise<Observation> {
  const claimed = await claimTime(layout, ref.marker);
  if (claimed === undefined) return { phase: "absent", detail: `nobody has claimed ${ref.marker}` };
  return clock.now() - claimed < START_DEADLINE
    ? { phase: "live", detail: "starting" }
    : { phase: "ended", result: null, detail: "killed before it reported" };
}

/** True when the pids of an attempt are those of another container of this machine. */
export const isElsewhere = async ({ namespace }: AttemptLayout): Promise<boolean> =>
  isForeign((await readIfExists(namespace))?.trim());

async function sign(supervisor: Supervisor, layout: AttemptLayout): Promise<Observation | undefined> {
  const boot = await bootId();
  if (supervisor.bootId !== boot) {
    return supervisor.host === hostname()
      ? undefined
      : { phase: "unavailable", detail: `it runs on ${supervisor.host}, this is ${hostname()}` };
  }
  if (await isElsewhere(layout)) {
    const detail = `process ${supervisor.pid} belongs to another container of this machine: look from there, or settle the run when that container is gone`;
    return { phase: "unavailable", detail };
  }
  if (await isRunning(supervisor)) return { phase: "live", detail: `process ${supervisor.pid}` };
  const left = await jobProcesses(supervisor);
  if (left.length === 0) return undefined;
  // A second attempt beside these would train into the same folder.
  const pids = left.map(({ pid }) => pid).join(", ");
  const detail = `the wrapper is gone, its processes run on: ${pids}`;
  return { phase: "live", detail, warning: `${detail}; nobody will write down how they end` };
}
