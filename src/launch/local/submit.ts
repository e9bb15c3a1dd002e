import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, open, readdir } from "node:fs/promises";
import { dirname } from "node:path";
import { messageOf, UnderstudyError } from "../../core/errors.ts";
import { exists, readIfExists, writeAtomic } from "../../core/files.ts";
import { pidNamespace } from "../../core/process-identity.ts";
import { claimFolder, layoutAt, type AttemptLayout } from "../attempt-layout.ts";
import type { OpenWorld } from "../launchers.ts";
import type { Plan, Submission } from "../schema.ts";
import { Supervisor } from "../supervisor.ts";
import { refOf } from "./plan.ts";

const CLAIM_DEADLINE = 30_000;
const POLL = 20;
const FENCED = 75;

/**
 * Writes the planned files, starts the wrapper in a session of its own and waits until it has claimed the marker.
 * Nothing was started when the answer is `rejected`. `ambiguous`: the marker is taken, or the wrapper is slow;
 * `find` settles it.
 */
export const submitLocal = async (plan: Plan, world: OpenWorld): Promise<Submission> => {
  const layout = layoutAt(plan.cwd);
  try {
    const refusal = await obstacle(plan, layout);
    if (refusal) return refusal;
    const environment = resolved(plan, world);
    await writePlanned(plan, layout);
    const namespace = await pidNamespace();
    if (namespace !== undefined) await writeAtomic(layout.namespace, `${namespace}\n`);
    return await start(plan, layout, environment, world);
  } catch (error) {
    const hint = error instanceof UnderstudyError ? error.hint : undefined;
    return { outcome: "rejected", reason: messageOf(error), ...(hint === undefined ? {} : { hint }) };
  }
};

async function obstacle(plan: Plan, layout: AttemptLayout): Promise<Submission | undefined> {
  if (await exists(claimFolder(layout, plan.attempt.marker))) {
    return { outcome: "ambiguous", reason: `marker ${plan.attempt.marker} is already taken` };
  }
  await mkdir(layout.folder, { recursive: true });
  const numbers = (await readdir(dirname(layout.folder))).map(Number);
  const newest = Math.max(...numbers.filter(Number.isInteger));
  // Writing the fence now would lock out the attempt that has taken over.
  if (newest > plan.attempt.number) {
    return { outcome: "rejected", reason: `attempt ${newest} has taken over this run` };
  }
  for (const file of plan.files) {
    const present = file.path === layout.fence ? undefined : await readIfExists(file.path);
    if (present !== undefined && present !== file.text) {
      return { outcome: "rejected", reason: `${file.path} belongs to another plan for the same attempt` };
    }
  }
  return undefined;
}

function resolved(plan: Plan, world: OpenWorld): Record<string, string> {
  const entries = Object.entries(plan.environment);
  return Object.fromEntries(
    entries.map(([name, entry]) => [
      name,
      "secret" in entry ? world.secrets.read(entry.secret) : entry.value,
    ]),
  );
}

async function writePlanned(plan: Plan, layout: AttemptLayout): Promise<void> {
  for (const file of plan.files) {
    const present = await readIfExists(file.path);
    if (present !== file.text || file.path === layout.fence)
      await writeAtomic(file.path, file.text, file.mode);
  }
}

async function start(
  plan: Plan,
  layout: AttemptLayout,
  environment: Record<string, string>,
  world: OpenWorld,
): Promise<Submission> {
  const log = await open(layout.wrapperLog, "a");
  try {
    const [program, ...args] = plan.argv;
    // Own session: it survives the end of this program, a closed terminal and Ctrl-C.
    const wrapper = spawn(program, args, {
      cwd: plan.cwd,
      env: environment,
      detached: true,
      stdio: ["ignore", log.fd, log.fd],
    });
    await started(wrapper);
    wrapper.unref();
    return await claimed(wrapper, plan, layout, world);
  } finally {
    await log.close();
  }
}

async function started(wrapper: ChildProcess): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    wrapper.once("spawn", resolve);
    wrapper.once("error", reject);
  });
}

async function claimed(
  wrapper: ChildProcess,
  plan: Plan,
  layout: AttemptLayout,
  { clock }: OpenWorld,
): Promise<Submission> {
  const deadline = clock.now() + CLAIM_DEADLINE;
  for (;;) {
    const ended = wrapper.exitCode !== null || wrapper.signalCode !== null;
    if ((await supervisorPid(layout)) === wrapper.pid) return { outcome: "accepted", refs: [refOf(plan)] };
    if (ended) return unclaimed(wrapper, plan, layout);
    if (clock.now() >= deadline)
      return { outcome: "ambiguous", reason: "the wrapper has not reported in time" };
    await clock.sleep(POLL);
  }
}

async function unclaimed(wrapper: ChildProcess, plan: Plan, layout: AttemptLayout): Promise<Submission> {
  const said = ((await readIfExists(layout.wrapperLog)) ?? "").trim().split("\n").at(-1) ?? "";
  if (wrapper.exitCode === FENCED) return { outcome: "ambiguous", reason: said };
  // Killed between claim and report: it may have been ours or another's.
  if (await exists(claimFolder(layout, plan.attempt.marker))) {
    return { outcome: "ambiguous", reason: `the wrapper ended before it reported: ${said}` };
  }
  const how = wrapper.signalCode ?? `exit ${wrapper.exitCode}`;
  return { outcome: "rejected", reason: `the wrapper did not start (${how}): ${said}` };
}

async function supervisorPid(layout: AttemptLayout): Promise<number | undefined> {
  const text = await readIfExists(layout.supervisor);
  return text === undefined ? undefined : Supervisor.parse(JSON.parse(text)).pid;
}
