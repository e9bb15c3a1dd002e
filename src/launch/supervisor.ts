import { readdir } from "node:fs/promises";
import { z } from "zod";
import { runProgram } from "../core/process.ts";
import {
  hasProc,
  isRunning,
  processStatus,
  readVanishing,
  type ProcessIdentity,
} from "../core/process-identity.ts";

/** `supervisor.json`: the wrapper that watches an attempt, and the program it started. */
export const Supervisor = z.strictObject({
  schemaVersion: z.literal(1),
  marker: z.string(),
  /** Of the attempt: with the marker it names the job's processes among those of all projects. */
  token: z.string(),
  pid: z.int().positive(),
  startTime: z.string(),
  bootId: z.string(),
  host: z.string(),
  pgid: z.int().positive(),
  payload: z.strictObject({ pid: z.int().positive(), startTime: z.string() }).nullable(),
});
export type Supervisor = z.infer<typeof Supervisor>;

/**
 * Processes of an attempt that run now, the wrapper left out. Workers outlive their parent and may have sessions of their
 * own, so group and parent say too little: marker and token in their environment name them. Where environments cannot
 * be read (no /proc) it is the wrapper's group, as long as wrapper or program prove that the group is still theirs.
 */
export const jobProcesses = async (supervisor: Supervisor): Promise<readonly ProcessIdentity[]> => {
  const found = (await hasProc()) ? await markedProcesses(supervisor) : await groupOf(supervisor);
  const { payload } = supervisor;
  const missing = payload !== null && !found.some(({ pid }) => pid === payload.pid);
  return missing && (await isRunning(payload)) ? [...found, payload] : found;
};

/** Processes whose environment carries marker and token of the attempt; zombies have none. */
export const markedProcesses = async ({
  marker,
  token,
}: Pick<Supervisor, "marker" | "token">): Promise<readonly ProcessIdentity[]> => {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name)).map(Number);
  const found: ProcessIdentity[] = [];
  for (const pid of pids) {
    const environ = await readVanishing(`/proc/${pid}/environ`);
    if (!environ?.toString("latin1").split("\0").includes(`UNDERSTUDY_JOB=${marker}.${token}`)) continue;
    const status = await processStatus(pid);
    if (status && !status.zombie) found.push({ pid, startTime: status.startTime });
  }
  return found;
};

async function groupOf(supervisor: Supervisor): Promise<readonly ProcessIdentity[]> {
  const proofs = [supervisor, supervisor.payload].filter((identity) => identity !== null);
  const proven = await Promise.all(proofs.map(isRunning));
  if (!proven.includes(true)) return [];
  const env = { PATH: "/usr/bin:/bin", LC_ALL: "C" };
  const { stdout } = await runProgram(["ps", "-A", "-o", "pid=", "-o", "pgid="], { env });
  const pids = stdout
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([pid, pgid]) => pgid === supervisor.pgid && pid !== supervisor.pid)
    .flatMap(([pid]) => (pid === undefined ? [] : [pid]));
  const members = await Promise.all(pids.map(processStatus));
  return members.flatMap((member) =>
    member === undefined || member.zombie ? [] : [{ pid: member.pid, startTime: member.startTime }],
  );
}
