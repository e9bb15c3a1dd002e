// Shared by the two commands of the README: Node packages and build, done once per state of their inputs.
// Plain JavaScript that old versions of Node can load too, so that they get to the sentence about their age.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** Ends the process with a sentence when this Node is too old. */
export function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(`error: Node ${process.versions.node} is too old`);
  console.error("hint: install Node 20.19 or newer, then run the same command again");
  process.exit(2);
}

/** Packages and build, by one process at a time: a second `npm ci` would delete what the first is using. */
export async function prepare() {
  const release = lock(join(root, ".understudy", "install.lock"));
  try {
    await installPackages();
    await build();
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    release();
    process.exit(error.code);
  } finally {
    release();
  }
}

function lock(folder) {
  mkdirSync(dirname(folder), { recursive: true });
  for (;;) {
    try {
      mkdirSync(folder);
      writeFileSync(join(folder, "pid"), String(process.pid));
      return () => rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const holder = existsSync(join(folder, "pid")) ? Number(readFileSync(join(folder, "pid"), "utf8")) : 0;
    if (isAlive(holder) || isYoung(folder)) {
      console.error("error: another process is installing Node packages here already");
      console.error(`hint: wait for it, then run the same command again; if there is none, delete ${folder}`);
      process.exit(2);
    }
    // Killed while it installed: what it left is made anew below, its stamps being written last.
    rmSync(folder, { recursive: true, force: true });
  }
}

// Its maker is about to write who it is.
function isYoung(folder) {
  return (
    existsSync(folder) && !existsSync(join(folder, "pid")) && Date.now() - statSync(folder).mtimeMs < 10_000
  );
}

function isAlive(pid) {
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === "EPERM";
  }
}

/** `npm ci` unless node_modules was made from exactly this lock file. */
async function installPackages() {
  const digest = digestOf([join(root, "package-lock.json")]);
  const stamp = join(root, "node_modules", ".understudy-lock");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  console.error("Installing Node packages…");
  await must("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
  writeFileSync(stamp, digest);
}

/** Builds dist/ unless it was made from exactly these sources and packages. */
async function build() {
  const digest = digestOf([
    ...filesBelow(join(root, "src")),
    join(root, "tsconfig.json"),
    join(root, "tsconfig.build.json"),
    join(root, "package-lock.json"),
    join(root, "scripts", "build.js"),
  ]);
  const stamp = join(root, "dist", ".understudy-source");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  console.error("Compiling…");
  await must(process.execPath, [join(root, "scripts", "build.js")]);
  writeFileSync(stamp, digest);
}

/**
 * Runs a program with our terminal; ends this process when it fails. Ctrl-C reaches the program too: we wait for its end, so
 * that nothing of it works on behind the prompt and under the feet of the next try.
 */
async function must(program, args) {
  let interrupted = false;
  const note = () => {
    interrupted = true;
  };
  for (const signal of SIGNALS) process.on(signal, note);
  const ended = await new Promise((resolve) => {
    const child = spawn(program, args, { cwd: root, stdio: "inherit" });
    child.on("error", (error) => resolve({ code: null, error }));
    child.on("exit", (code) => resolve({ code }));
  });
  for (const signal of SIGNALS) process.off(signal, note);
  if (ended.code === 0 && !interrupted) return;
  if (interrupted) {
    console.error("interrupted; the same command goes on");
    throw new Ended(130);
  }
  const how = ended.error ? `could not be started: ${ended.error.message}` : `ended with code ${ended.code}`;
  console.error(`error: ${[program, ...args].join(" ")} ${how}`);
  console.error("hint: what it said stands above; the same command tries again");
  throw new Ended(4);
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Thrown to end the process with a code after locks are given back. */
class Ended extends Error {
  constructor(code) {
    super(`ended with ${code}`);
    this.code = code;
  }
}

function filesBelow(folder) {
  return readdirSync(folder)
    .toSorted()
    .flatMap((name) => {
      const path = join(folder, name);
      return statSync(path).isDirectory() ? filesBelow(path) : [path];
    });
}

function digestOf(paths) {
  const hash = createHash("sha256");
  for (const path of paths)
    hash
      .update(`${path.slice(root.length)}\0`)
      .update(readFileSync(path))
      .update("\0");
  return hash.digest("hex");
}
