import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SshEndpoint } from "../profile.ts";
import type { Access } from "./access.ts";
import { NotOpened, type TransportWorld } from "./framed-transport.ts";
import { readHostKeys } from "./host-key.ts";
import { configText } from "./openssh-config.ts";
import { connectionEnd } from "./openssh-errors.ts";
import { destinationArguments, type ResolvedHost } from "./ssh-config.ts";

/** One shared connection of the ssh program. */
export interface Master {
  /** Its control socket; opens the connection first where there is none. Throws {@link NotOpened}. */
  socket(): Promise<string>;
  /** To be called when a client of it failed: the next one asks whether it still lives. */
  suspect: () => void;
  close(): Promise<void>;
}

interface Way {
  readonly endpoint: SshEndpoint;
  readonly access: Access;
  readonly target: ResolvedHost;
  readonly world: TransportWorld;
}

// Ends by itself when whoever opened it is gone.
const PERSIST_SECONDS = 300;
// The path of a socket may have 108 bytes, and ssh appends 17 while it makes it.
const LONGEST_FOLDER = 60;
const LAST_WORDS = 2000;

/** A connection that the person has opened with ControlPath is used where there is one; else one of our own. */
export const sharedConnection = (way: Way): Master => {
  let folder: Promise<string> | undefined;
  let opening: Promise<string> | undefined;
  let own: string | undefined;
  let isSuspect = false;

  const open = async (): Promise<string> => {
    const theirs = way.target.options.get("controlpath")?.[0];
    if (theirs !== undefined && theirs !== "none" && (await lives(theirs, way))) return theirs;
    folder ??= makeFolder(way);
    const socket = join(await folder, "s");
    await rm(socket, { force: true });
    await startMaster(await folder, socket, way);
    own = socket;
    return socket;
  };

  return {
    // Opened by one caller, for whom all others wait: servers take many at once for an attack.
    socket: async () => {
      if (isSuspect && opening) {
        isSuspect = false;
        const socket = await opening.catch(() => undefined);
        if (socket === undefined || !(await lives(socket, way))) opening = undefined;
      }
      opening ??= open();
      try {
        return await opening;
      } catch (error) {
        opening = undefined;
        throw error;
      }
    },
    suspect: () => {
      isSuspect = true;
    },
    close: async () => {
      await opening?.catch(() => undefined);
      opening = undefined;
      if (own !== undefined) await control(own, "exit", way);
      if (folder) await rm(await folder, { recursive: true, force: true });
      folder = undefined;
      own = undefined;
    },
  };
};

async function makeFolder(way: Way): Promise<string> {
  const base = tmpdir().length > LONGEST_FOLDER ? "/tmp" : tmpdir();
  // mkdtemp makes it for its owner alone.
  const folder = await mkdtemp(join(base, "us-"));
  const { sshConfig } = way.access;
  const theirs = sshConfig === undefined ? undefined : await readFile(sshConfig, "utf8");
  await writeFile(join(folder, "config"), configText(way.endpoint, way.access, theirs), { mode: 0o600 });
  return folder;
}

async function startMaster(folder: string, socket: string, way: Way): Promise<void> {
  const options = [
    `ControlPath=${socket}`,
    "ControlMaster=yes",
    `ControlPersist=${PERSIST_SECONDS}`,
    "ClearAllForwardings=yes",
  ].flatMap((option) => ["-o", option]);
  const result = await runSsh(
    ["-F", join(folder, "config"), ...options, "-N", "-f", ...destinationArguments(way.endpoint)],
    way,
  );
  if (result.code === 0) return;
  if (result.code === null) {
    throw new NotOpened({ code: "UNREACHABLE", reason: silence(way) });
  }
  const stderr = way.target.jump.length > 0 ? await jumpWords(folder, result.stderr, way) : result.stderr;
  const end = connectionEnd(stderr, await readHostKeys(way.target));
  if (end.code !== "UNREACHABLE" || !/timed out/i.test(end.reason)) throw new NotOpened(end);
  throw new NotOpened({ code: "UNREACHABLE", reason: `${silence(way)}: ${end.reason}` });
}

// For a shared connection ssh drops what the jump hosts say, which is what matters: one more try, not shared, tells.
async function jumpWords(folder: string, stderr: string, way: Way): Promise<string> {
  const alone = ["-F", join(folder, "config"), "-o", "ControlPath=none", "-T"];
  const result = await runSsh([...alone, ...destinationArguments(way.endpoint), "true"], way);
  return result.code === 0 ? stderr : result.stderr;
}

const lives = async (socket: string, way: Way): Promise<boolean> =>
  (await control(socket, "check", way)) === 0;

async function control(socket: string, command: "check" | "exit", way: Way): Promise<number | null> {
  const words = ["-F", "/dev/null", "-S", socket, "-O", command, "--", way.target.hostName];
  return (await runSsh(words, way)).code;
}

const silence = (way: Way): string =>
  `${way.target.hostName} port ${way.target.port} did not answer within ${connectSeconds(way)} s`;

const connectSeconds = ({ access }: Way): number => access.connectSeconds ?? access.deadlineSeconds;

// A null code: it had to be ended.
async function runSsh(
  words: readonly string[],
  way: Way,
): Promise<{ readonly code: number | null; readonly stderr: string }> {
  return new Promise((resolve) => {
    const child = spawn("ssh", words, {
      env: { ...way.world.environment },
      stdio: ["ignore", "ignore", "pipe"],
      timeout: connectSeconds(way) * 1000,
    });
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.once("error", (error) => resolve({ code: 255, stderr: error.message }));
    child.once("exit", (code) => {
      // A connection that goes on in the background may hold the stream; after a failure the last words are waited for.
      if (code !== 0) child.once("close", () => resolve({ code, stderr }));
      setTimeout(() => resolve({ code, stderr }), code === 0 ? 0 : LAST_WORDS).unref();
    });
  });
}
