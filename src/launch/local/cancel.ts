import { kill } from "node:process";
import { writeFile } from "node:fs/promises";
import type { Clock } from "../../core/clock.ts";
import { systemCode } from "../../core/errors.ts";
import { layoutAt, type AttemptLayout } from "../attempt-layout.ts";
import { bootId, isRunning, type ProcessIdentity } from "../../core/process-identity.ts";
import type { JobRef } from "../schema.ts";
import { jobProcesses, type Supervisor } from "../supervisor.ts";
import { isElsewhere, observeLocal, readSupervisor } from "./observe.ts";

const POLL = 50;
const TERM_GRACE = 3000;
const WRAPPER_GRACE = 10_000;

/**
 * `graceful`: asks for save-and-stop, and returns at once; asking again changes nothing. `now`: TERM, three seconds,
 * KILL to every process of the job, each verified by start time and boot; returns when they are gone.
 */
export const cancelLocal = async (
  ref: JobRef,
  mode: "graceful" | "now",
  clock: Clock,
): Promise<"requested" | "already-ended"> => {
  const layout = layoutAt(ref.folder);
  const before = await observeLocal(ref, clock);
  if (before.phase === "ended") return "already-ended";
  const first = await requestStop(layout);
  const supervisor = await readSupervisor(layout, ref);
  // Pids of another boot, or of another container, name other processes.
  if (supervisor === undefined || supervisor.bootId !== (await bootId()) || (await isElsewhere(layout))) {
    return "requested";
  }
  if (mode === "now") await endNow(supervisor, clock);
  // One TERM starts the wrapper's grace period; a second would reach the payload in the middle of its save.
  else if (first) await signalOne(supervisor, "SIGTERM");
  return "requested";
};

async function requestStop(layout: AttemptLayout): Promise<boolean> {
  try {
    await writeFile(layout.stop, "cancel\n", { flag: "wx" });
    return true;
  } catch (error) {
    if (systemCode(error) === "EEXIST") return false;
    throw error;
  }
}

async function endNow(supervisor: Supervisor, clock: Clock): Promise<void> {
  await signalAll(supervisor, "SIGTERM");
  await until(clock, TERM_GRACE, async () => (await jobProcesses(supervisor)).length === 0);
  await signalAll(supervisor, "SIGKILL");
  // With its program gone the wrapper writes the result: better evidence than none.
  await until(clock, WRAPPER_GRACE, async () => !(await isRunning(supervisor)));
  await signalOne(supervisor, "SIGKILL");
  // A program that was just being started carries its marker only now.
  await until(clock, TERM_GRACE, async () => {
    await signalAll(supervisor, "SIGKILL");
    return !(await isRunning(supervisor)) && (await jobProcesses(supervisor)).length === 0;
  });
}

async function signalAll(supervisor: Supervisor, signal: NodeJS.Signals): Promise<void> {
  for (const identity of await jobProcesses(supervisor)) await signalOne(identity, signal);
}

async function signalOne(identity: ProcessIdentity, signal: NodeJS.Signals): Promise<void> {
  if (!(await isRunning(identity))) return;
  try {
    kill(identity.pid, signal);
  } catch (error) {
    if (systemCode(error) !== "ESRCH") throw error;
  }
}

async function until(clock: Clock, limit: number, condition: () => Promise<boolean>): Promise<void> {
  const deadline = clock.now() + limit;
  while (!(await condition()) && clock.now() < deadline) await clock.sleep(POLL);
}
