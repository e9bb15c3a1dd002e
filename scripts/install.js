// Shared by the two commands of the README: Node packages and build, done once per state of their inputs.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "..");

/** Ends the process with a sentence when this Node is too old. */
export function requireNode() {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(`error: Node ${process.versions.node} is too old`);
  console.error("hint: install Node 20.19 or newer, then run the same command again");
  process.exit(2);
}

/** `npm ci` unless node_modules was made from exactly this lock file. */
export function installPackages() {
  const digest = digestOf([join(root, "package-lock.json")]);
  const stamp = join(root, "node_modules", ".understudy-lock");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  console.error("Installing Node packages…");
  must("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
  writeFileSync(stamp, digest);
}

/** Compiles src/ to dist/ unless dist/ was made from exactly these sources. */
export function build() {
  const digest = digestOf([
    ...filesBelow(join(root, "src")),
    join(root, "tsconfig.json"),
    join(root, "tsconfig.build.json"),
  ]);
  const stamp = join(root, "dist", ".understudy-source");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === digest) return;
  console.error("Compiling…");
  must(process.execPath, [
    join(root, "node_modules", "typescript", "bin", "tsc"),
    "-p",
    "tsconfig.build.json",
  ]);
  mkdirSync(join(root, "dist"), { recursive: true });
  writeFileSync(stamp, digest);
}

/** Runs a program with our terminal; ends the process with its exit code when it fails. */
export function must(program, args, options = {}) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: "inherit", ...options });
  if (error) {
    console.error(`error: ${program} could not be started: ${error.message}`);
    process.exit(1);
  }
  if (status !== 0) process.exit(status ?? 1);
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
