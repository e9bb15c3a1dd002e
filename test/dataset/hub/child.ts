import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { execPath } from "node:process";
import { promisify } from "node:util";
import type { Project } from "../../../src/core/project.ts";
import { HUB_TOKEN, type FakeHub } from "../../support/fake-hub/fake-hub.ts";
import { removeFolder } from "../../support/remove-folder.ts";

const root = resolve(import.meta.dirname, "../../..");

/** Our sources as plain JavaScript: a process that is to be killed many times must start quickly. Remove it. */
export const compiled = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "understudy-hub-"));
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const args = [tsc, "-p", join(root, "tsconfig.build.json"), "--noCheck", "--outDir", join(folder, "dist")];
  await promisify(execFile)(execPath, args, { cwd: root });
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  return folder;
};

export const removeCompiled = async (folder: string): Promise<void> => removeFolder(folder);

const CHILD = `
const [folder, hub, token, work] = process.argv.slice(1);
const { projectAt } = await import("./dist/core/project.js");
const { pushDataset } = await import("./dist/dataset/hub/push.js");
const { pullDataset } = await import("./dist/dataset/hub/pull.js");
const access = { project: projectAt(folder), repo: "tester/voices", token, endpoint: hub, fetch };
if (work === "push")
  await pushDataset({ ...access, name: "voices", card: async (lock) => ({ text: "---\\nlicense: cc0-1.0\\n---\\n# " + lock.name + "\\n", plots: [] }) });
else await pullDataset(access);
const { readFileSync } = await import("node:fs");
console.log(/VmHWM:\\s*(\\d+) kB/.exec(readFileSync("/proc/self/status", "utf8"))[1]);
`;

/** Pushes in a process of its own; resolves with the most memory that it had, in MB. */
export const memoryOf = async ({ folder, hub, project }: Place): Promise<number> => {
  const args = ["--input-type=module", "--eval", CHILD, project.root, hub.url, HUB_TOKEN, "push"];
  const { stdout } = await promisify(execFile)(execPath, args, { cwd: folder });
  return Number(stdout) / 1000;
};

interface Place {
  /** Of `compiled`. */
  readonly folder: string;
  readonly hub: FakeHub;
  readonly project: Project;
}

/**
 * Pushes or pulls in a process of its own, which is killed before or after the Hub has done its n-th request (0-based).
 * Resolves with the signal that ended it; null when it got through before that.
 */
export const killedAt = async (
  { folder, hub, project }: Place,
  work: "push" | "pull",
  { request, when }: { readonly request: number; readonly when: "before" | "after" },
): Promise<NodeJS.Signals | null> => {
  const args = ["--input-type=module", "--eval", CHILD, project.root, hub.url, HUB_TOKEN, work];
  const child = spawn(execPath, args, { cwd: folder, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  hub.faults.add({ on: "", skip: request, misdeed: { kind: "call", [when]: kill } });
  const [code, signal] = await ended;
  if (signal === null && code !== 0) throw new Error(`the process failed: ${said}`);
  return signal === "SIGKILL" ? signal : null;
};
