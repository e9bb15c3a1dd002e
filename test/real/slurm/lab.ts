import { execFileSync, spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { removeFolder } from "../../support/remove-folder.ts";

/** Programs that the lab needs; a suite on it is skipped by name without them. */
export const LAB_PROGRAMS = [
  "slurmctld",
  "slurmd",
  "slurmdbd",
  "sbatch",
  "munged",
  "mariadbd",
  "mariadb-install-db",
  "sshd",
  "ssh-keygen",
] as const;

/** The lab's ordinary user. */
export const LAB_USER = "understudy-lab";

export interface LabSettings {
  readonly accounting?: "slurmdbd" | "none";
  readonly preempt?: "REQUEUE" | "CANCEL";
  /** Enforces memory limits; only where `hasCgroups()`. */
  readonly cgroups?: boolean;
  /** Seconds that an ended job stays in squeue. */
  readonly minJobAge?: number;
}

export type Daemon = "slurmctld" | "slurmdbd" | "NODE1" | "NODE2";

/** A running cluster. Everything of it is below `folder`. */
export interface SlurmLab {
  readonly folder: string;
  readonly nodes: readonly [string, string];
  /** The lab user's own folder, writable for it. */
  readonly home: string;
  readonly ssh: { readonly port: number; readonly identityFile: string; readonly knownHosts: string };
  /** For a program that shall use this cluster. */
  readonly environment: Readonly<Record<string, string>>;
  /** Runs a command as root or as the lab's user; its standard output. Throws with its standard error. */
  run(argv: readonly [string, ...string[]], as?: "root" | "user"): string;
  /** A stopped process of the lab answers nobody; its sockets stay open. */
  pause(daemon: Daemon): void;
  resume(daemon: Daemon): void;
  stop(daemon: Daemon): Promise<void>;
  /** Starts a daemon that was stopped; it is ready a little later. */
  start(daemon: Daemon): Promise<void>;
  /** A folder with a program that stands before the real one on PATH; `$REAL` in the script is the real one. */
  shim(program: string, script: string): string;
  close(): Promise<void>;
}

/** True where memory limits of jobs can be enforced: cgroup v1 with its memory controller, and the right to make groups. */
export const hasCgroups = (): boolean => {
  const probe = `/sys/fs/cgroup/memory/understudy-probe-${process.pid}`;
  try {
    if (!existsSync("/sys/fs/cgroup/freezer") || !existsSync("/sys/fs/cgroup/cpuset")) return false;
    mkdirSync(probe);
    // Only rmdir takes a control group away.
    execFileSync("rmdir", [probe]);
    return true;
  } catch {
    return false;
  }
};

/** Starts a cluster of its own for one test file; ready in about five seconds. It ends with this process, however that ends. */
export const startLab = async (settings: LabSettings = {}): Promise<SlurmLab> => {
  // Below a folder that every user may enter, and short: the names of Unix sockets are limited to 107 bytes.
  const folder = mkdtempSync(join(tmpdir(), "us-lab-"));
  chmodSync(folder, 0o755);
  const ports = await freePorts(5);
  const environment = { SLURM_CONF: join(folder, "etc/slurm.conf"), PATH: "/usr/bin:/bin:/usr/sbin:/sbin" };
  const child = spawn("bash", [join(import.meta.dirname, "lab.sh"), folder], {
    env: {
      PATH: environment.PATH,
      LAB_PORTS: ports.join(" "),
      LAB_USER,
      LAB_ACCOUNTING: settings.accounting ?? "slurmdbd",
      LAB_PREEMPT: settings.preempt ?? "REQUEUE",
      LAB_CGROUP: settings.cgroups === true ? "1" : "0",
      LAB_MIN_JOB_AGE: String(settings.minJobAge ?? 300),
    },
    // Ctrl-C at the terminal must not reach it: it stops its daemons when the pipe closes.
    detached: true,
  });
  const talk = conversation(child);
  await talk.expect("ready");
  const [ctld, , , , port = 0] = ports;
  return {
    folder,
    nodes: [`lab${ctld}-1`, `lab${ctld}-2`],
    home: join(folder, "home"),
    ssh: {
      port,
      identityFile: join(folder, "ssh/userkey"),
      knownHosts: join(folder, "ssh/known_hosts"),
    },
    environment,
    run: (argv, as = "root") => runAs(argv, as, environment),
    pause: (daemon) => signal(folder, daemon, "SIGSTOP"),
    resume: (daemon) => signal(folder, daemon, "SIGCONT"),
    stop: async (daemon) => talk.say(`stop ${daemon}`),
    start: async (daemon) => talk.say(`start ${daemon}`),
    shim: (program, script) => shim(folder, program, script),
    close: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.stdin.end();
      await ended;
      removeFolder(folder);
    },
  };
};

function runAs(
  argv: readonly [string, ...string[]],
  as: "root" | "user",
  environment: Readonly<Record<string, string>>,
): string {
  const prefix =
    as === "root" ? [] : ["setpriv", "--reuid", LAB_USER, "--regid", LAB_USER, "--clear-groups", "--"];
  const [program = "", ...rest] = [...prefix, ...argv];
  return execFileSync(program, rest, {
    env: environment,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function signal(folder: string, daemon: Daemon, name: NodeJS.Signals): void {
  process.kill(Number(readFileSync(join(folder, "pids", daemon), "utf8")), name);
}

function shim(folder: string, program: string, script: string): string {
  const place = mkdtempSync(join(folder, "shim-"));
  chmodSync(place, 0o755);
  const file = join(place, program);
  writeFileSync(file, `#!/bin/sh\nREAL=/usr/bin/${program}\n${script}\n`);
  chmodSync(file, 0o755);
  return place;
}

interface Conversation {
  expect(line: string): Promise<void>;
  say(line: string): Promise<void>;
}

function conversation(child: ChildProcessWithoutNullStreams): Conversation {
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let errors = "";
  child.stderr.on("data", (data: Buffer) => {
    errors += data.toString();
  });
  const expectLine = async (line: string): Promise<void> => {
    const { value, done } = await lines.next();
    if (done === true || value !== line) throw new Error(`the Slurm lab did not start:\n${errors}`);
  };
  return {
    expect: expectLine,
    say: async (line) => {
      child.stdin.write(`${line}\n`);
      await expectLine("done");
    },
  };
}

/** Ports that are free now; all probed at once, so that they differ. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      async () =>
        new Promise<Server>((resolve, reject) => {
          const server = createServer();
          server.once("error", reject);
          server.listen(0, "127.0.0.1", () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return address.port;
  });
  await Promise.all(
    servers.map(
      async (server) =>
        new Promise<void>((resolve) => {
          server.close(() => resolve());
        }),
    ),
  );
  return ports;
}
