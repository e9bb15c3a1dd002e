import { access, readFile, readlink } from "node:fs/promises";
import { systemCode } from "./errors.ts";
import { runProgram } from "./process.ts";

/** Names one process for good: a pid is handed out again, a pid with its start time and boot is not. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since boot (/proc/PID/stat field 22), or `ps -o lstart=` where there is no /proc. */
  readonly startTime: string;
}

export interface ProcessStatus extends ProcessIdentity {
  readonly zombie: boolean;
  readonly pgid: number;
}

/** What the system says about a pid, or undefined when there is no such process. */
export const processStatus = async (pid: number): Promise<ProcessStatus | undefined> => {
  if (!(await hasProc())) return askPs(pid);
  const text = await readVanishing(`/proc/${pid}/stat`);
  return text === undefined ? undefined : parseStat(pid, text.toString("latin1"));
};

/** True while that very process runs: same pid, same start, and not a zombie. */
export const isRunning = async (identity: ProcessIdentity): Promise<boolean> => {
  const status = await processStatus(identity.pid);
  return status !== undefined && !status.zombie && words(status.startTime) === words(identity.startTime);
};

/** Differs after every restart of the machine; `unknown` where the system does not tell. wrapper.sh asks the same way. */
export const bootId = async (): Promise<string> => {
  const linux = await readVanishing("/proc/sys/kernel/random/boot_id");
  if (linux !== undefined) return linux.toString("utf8").trim();
  const asked = await runProgram(["sysctl", "-n", "kern.bootsessionuuid"], { env: PLAIN }).catch(
    () => undefined,
  );
  return asked?.exitCode === 0 ? asked.stdout.trim() : "unknown";
};

/**
 * Inode of this process's pid namespace, or undefined where the system has none. Containers can share a machine's name and boot and
 * still number their processes apart: a pid of another namespace says nothing here.
 */
export const pidNamespace = async (): Promise<string | undefined> => {
  try {
    return /\d+/.exec(await readlink("/proc/self/ns/pid"))?.[0];
  } catch {
    return undefined;
  }
};

/** True when a pid was given out in another namespace than ours; `namespace` undefined: an old record, of which nothing is known. */
export const isForeign = async (namespace: string | undefined): Promise<boolean> =>
  namespace !== undefined && namespace !== (await pidNamespace());

/** True where processes can be read from /proc. */
export const hasProc = async (): Promise<boolean> => {
  try {
    await access("/proc/self/stat");
    return true;
  } catch {
    return false;
  }
};

/** A file of /proc, or undefined when its process is gone or not ours to read. */
export const readVanishing = async (path: string): Promise<Buffer | undefined> => {
  try {
    return await readFile(path);
  } catch (error) {
    const code = systemCode(error) ?? "";
    if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes(code)) return undefined;
    throw error;
  }
};

/** A line of /proc/PID/stat. The command name in parentheses may hold spaces and parentheses itself. */
export const parseStat = (pid: number, text: string): ProcessStatus | undefined => {
  const fields = text
    .slice(text.lastIndexOf(")") + 1)
    .trim()
    .split(/\s+/);
  const [state, , pgid] = fields;
  const startTime = fields[19];
  if (state === undefined || pgid === undefined || startTime === undefined) return undefined;
  return { pid, startTime, pgid: Number(pgid), zombie: state === "Z" || state === "X" };
};

// Fixed, so that the same start is printed the same way by wrapper.sh and by us.
const PLAIN = { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C", TZ: "UTC" };

async function askPs(pid: number): Promise<ProcessStatus | undefined> {
  const { exitCode, stdout } = await runProgram(
    ["ps", "-o", "pgid=", "-o", "stat=", "-o", "lstart=", "-p", String(pid)],
    { env: PLAIN },
  );
  const [pgid, state, ...start] = words(stdout).split(" ");
  if (exitCode !== 0 || pgid === undefined || state === undefined || start.length === 0) return undefined;
  return { pid, startTime: start.join(" "), pgid: Number(pgid), zombie: state.startsWith("Z") };
}

function words(text: string): string {
  return text.trim().replace(/\s+/g, " ");
}
