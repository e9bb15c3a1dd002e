import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

/** The user of the far side. Its start-up file is noisy on both streams, as those of real accounts are. */
export const FAR_USER = "understudy-test";

export interface SshdOptions {
  /** More lines of sshd_config. */
  readonly config?: readonly string[];
  readonly port?: number;
  /** Another host key than that of an earlier start in the same folder. */
  readonly newHostKey?: boolean;
  /** Address and command prefix of a namespace. */
  readonly address?: string;
  readonly prefix?: readonly string[];
}

export interface Sshd {
  readonly port: number;
  readonly address: string;
  /** Private key of a user that may log in. */
  readonly key: string;
  /** Line for a known_hosts file. */
  readonly knownHosts: string;
  /** Public host key, as in its file. */
  readonly hostKey: string;
  /** SIGKILL for the processes of all connections; commands that run there go on. */
  killConnections(): void;
  /** Ends it with its connections. */
  stop(): Promise<void>;
}

/** A real sshd on 127.0.0.1 with keys of its own in `folder`. Needs root. */
export const startSshd = async (folder: string, options: SshdOptions = {}): Promise<Sshd> => {
  makeUser();
  mkdirSync(folder, { recursive: true });
  // The far user must be able to reach the file with its keys.
  chmodSync(folder, 0o755);
  mkdirSync("/run/sshd", { recursive: true });
  const hostKey = join(folder, options.newHostKey ? "host-key-new" : "host-key");
  const key = join(folder, "user-key");
  makeKey(hostKey);
  makeKey(key);
  writeFileSync(join(folder, "authorized_keys"), readFileSync(`${key}.pub`));
  writeFileSync(join(folder, "banner"), "*** Authorised use only. Everything you do is recorded. ***\n");
  const address = options.address ?? "127.0.0.1";
  const port = options.port ?? (await freePort());
  const config = join(folder, `sshd_config-${port}`);
  writeFileSync(config, configuration({ folder, hostKey, address, port }, options.config ?? []));
  const [program, ...words] = [...(options.prefix ?? []), "/usr/sbin/sshd", "-D", "-e", "-f", config];
  // It writes its own log: what its last connections say may come after the folder is gone.
  const log = join(folder, `sshd-${port}.log`);
  const descriptor = openSync(log, "w");
  const daemon = spawn(program ?? "/usr/sbin/sshd", words, { stdio: ["ignore", "ignore", descriptor] });
  closeSync(descriptor);
  await untilListening({ address, port, daemon, said: () => readFileSync(log, "utf8") });
  const publicKey = readFileSync(`${hostKey}.pub`, "utf8").trim();
  return {
    port,
    address,
    key,
    hostKey: publicKey,
    knownHosts: `[${address}]:${port} ${publicKey.split(" ").slice(0, 2).join(" ")}\n`,
    killConnections: () => {
      // Only sshd's own: what it runs for its users is left alone.
      for (const pid of connectionsOf(daemon.pid ?? 0)) kill(pid);
    },
    stop: async () => {
      const connections = connectionsOf(daemon.pid ?? 0);
      daemon.kill("SIGKILL");
      for (const pid of connections) kill(pid);
      if (daemon.exitCode === null && daemon.signalCode === null) {
        await new Promise((resolve) => daemon.once("exit", resolve));
      }
    },
  };
};

/** A port that was free a moment ago. */
export const freePort = async (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0));
    });
  });

/** A key without passphrase, or with one; kept when it is there. */
export const makeKey = (path: string, passphrase = ""): void => {
  if (!existsSync(path)) {
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", passphrase, "-C", "test", "-f", path]);
  }
};

interface Place {
  readonly folder: string;
  readonly hostKey: string;
  readonly address: string;
  readonly port: number;
}

// The first value of an option counts, so what a test adds comes first.
const configuration = ({ folder, hostKey, address, port }: Place, more: readonly string[]): string =>
  [
    ...more,
    `Port ${port}`,
    `ListenAddress ${address}`,
    `HostKey ${hostKey}`,
    "PidFile none",
    `AuthorizedKeysFile ${join(folder, "authorized_keys")}`,
    "StrictModes no",
    "UsePAM no",
    "PasswordAuthentication no",
    "KbdInteractiveAuthentication no",
    `AllowUsers ${FAR_USER}`,
    "MaxStartups 50:30:100",
    "PrintMotd no",
    "AllowTcpForwarding yes",
    "Subsystem sftp internal-sftp",
    `Banner ${join(folder, "banner")}`,
    "LogLevel VERBOSE",
    "",
  ].join("\n");

function makeUser(): void {
  const home = `/home/${FAR_USER}`;
  try {
    execFileSync("id", ["-u", FAR_USER], { stdio: "ignore" });
  } catch {
    try {
      execFileSync("useradd", ["--create-home", "--shell", "/bin/bash", "--home-dir", home, FAR_USER]);
    } catch {
      // Another test has made it at this moment.
    }
  }
  // An account without a password is locked, which sshd refuses.
  execFileSync("usermod", ["-p", "*", FAR_USER]);
  const startUp = join(home, ".bashrc");
  const noise = 'echo "Welcome to the cluster; quota 93 %"\necho "module: command not found" >&2\n';
  if (!existsSync(startUp) || readFileSync(startUp, "utf8") !== noise) writeFileSync(startUp, noise);
}

async function untilListening(sshd: {
  readonly address: string;
  readonly port: number;
  readonly daemon: ChildProcess;
  readonly said: () => string;
}): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    // In a namespace of its own it is not reached from everywhere: what it says decides.
    if (sshd.said().includes(`Server listening on ${sshd.address}`)) return;
    if (sshd.daemon.exitCode !== null) break;
    await wait(50);
  }
  throw new Error(`sshd did not start: ${sshd.said()}`);
}

function connectionsOf(daemon: number): number[] {
  const rows = execFileSync("ps", ["-eo", "pid=,ppid=,comm="], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map((row) => row.trim().split(/\s+/))
    .map(([pid, parent, name]) => ({ pid: Number(pid), parent: Number(parent), name }))
    .filter(({ name }) => name === "sshd");
  const privileged = rows.filter(({ parent }) => parent === daemon).map(({ pid }) => pid);
  const own = rows.filter(({ parent }) => privileged.includes(parent)).map(({ pid }) => pid);
  return [...privileged, ...own];
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}
