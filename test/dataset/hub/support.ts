import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Clock } from "../../../src/core/clock.ts";
import { projectAt, type Project } from "../../../src/core/project.ts";
import { pullDataset, type PullOptions } from "../../../src/dataset/hub/pull.ts";
import { pushDataset, type PushOptions } from "../../../src/dataset/hub/push.ts";
import { lockFile, packedFolder, type DatasetLock, type ShardEntry } from "../../../src/dataset/index.ts";
import { HUB_TOKEN, startFakeHub, type FakeHub } from "../../support/fake-hub/fake-hub.ts";
import { commitAt, contentOf, type Repository } from "../../support/fake-hub/repository.ts";
import { lockWith, NO_TOKENS, perSplit } from "../../support/locks.ts";
import { temporaryProject } from "../../support/temporary-project.ts";

/** A Hub that lives as long as the test; it must have been treated well in the end. */
export const fakeHub = async (): Promise<FakeHub> => {
  const hub = await startFakeHub();
  onTestFinished(async () => {
    await hub.stop();
    expect(hub.offences).toEqual([]);
  });
  return hub;
};

/** Waits are noted, not waited for; time passes by them. */
export const impatientClock = (): Clock & { readonly waits: number[] } => {
  const waits: number[] = [];
  let now = Date.parse("2026-05-01T00:00:00Z");
  return {
    waits,
    now: () => now,
    sleep: (milliseconds, signal) => {
      signal?.throwIfAborted();
      waits.push(milliseconds);
      now += milliseconds;
      return Promise.resolve();
    },
  };
};

export const shardBytes = (text: string, size = 300): Buffer => {
  const block = createHash("sha512").update(text).digest();
  return Buffer.concat(
    Array.from({ length: Math.ceil(size / block.length) }, () => block),
    size,
  );
};

/** Shards by split: what a data set of any size looks like to the Hub. */
export type Shards = Partial<Record<keyof DatasetLock["splits"], readonly Buffer[]>>;

/** A project whose data set `voices` has these shards and a lock that names them. */
export const projectOf = async (shards: Shards): Promise<Project> => {
  const project = projectAt((await temporaryProject()).root);
  await packShards(project, shards);
  return project;
};

const NO_SPLIT = { shards: [], rows: 0, turns: 0, audioSeconds: 1, userSeconds: 1, tokens: NO_TOKENS };

/** Writes shards and lock anew. */
export const packShards = async (project: Project, shards: Shards): Promise<DatasetLock> => {
  const folder = packedFolder(project, "voices");
  await mkdir(join(folder, "data"), { recursive: true });
  const splits = perSplit<DatasetLock["splits"]["train"]>(NO_SPLIT);
  for (const split of ["train", "dev", "ood", "test"] as const) {
    const contents = shards[split] ?? [];
    const entries: ShardEntry[] = [];
    for (const [index, content] of contents.entries()) {
      const [i, n] = [index, contents.length].map((number) => String(number).padStart(5, "0"));
      const path = `data/${split}-${i}-of-${n}.parquet`;
      await writeFile(join(folder, path), content);
      const sha256 = createHash("sha256").update(content).digest("hex");
      entries.push({ path, bytes: content.length, sha256, rows: 1 });
    }
    splits[split] = { ...NO_SPLIT, shards: entries, rows: contents.length, turns: contents.length };
  }
  const lock = lockWith({ name: "voices", splits });
  const path = lockFile(project, "voices");
  await writeFile(path, `${JSON.stringify(lock, null, 2)}\n`);
  return JSON.parse(await readFile(path, "utf8"));
};

export const pushOptions = (hub: FakeHub, project: Project): PushOptions => ({
  project,
  name: "voices",
  repo: "tester/voices",
  card: async (lock) => ({ text: `---\nlicense: cc0-1.0\n---\n# ${lock.name}\n`, plots: [] }),
  token: HUB_TOKEN,
  endpoint: hub.url,
  fetch: globalThis.fetch,
  clock: impatientClock(),
});

export const push = async (
  hub: FakeHub,
  project: Project,
  more: Partial<PushOptions> = {},
): ReturnType<typeof pushDataset> => pushDataset({ ...pushOptions(hub, project), ...more });

export const pullOptions = (hub: FakeHub, project: Project): PullOptions => ({
  project,
  repo: "tester/voices",
  token: HUB_TOKEN,
  endpoint: hub.url,
  fetch: globalThis.fetch,
  clock: impatientClock(),
});

export const pull = async (
  hub: FakeHub,
  project: Project,
  more: Partial<PullOptions> = {},
): ReturnType<typeof pullDataset> => pullDataset({ ...pullOptions(hub, project), ...more });

export const repositoryOf = (hub: FakeHub): Repository => {
  const repository = hub.state.repositories.get("tester/voices");
  if (!repository) throw new Error("the Hub has no repository tester/voices");
  return repository;
};

/** Paths and contents at a branch or commit. */
export const treeOf = (hub: FakeHub, revision = "main"): Record<string, string> => {
  const repository = repositoryOf(hub);
  const files = commitAt(repository, revision)?.files ?? new Map();
  const contents = [...files].map(([path, file]) => [path, contentOf(repository, file).toString("latin1")]);
  return Object.fromEntries(contents);
};

/** What the repository must hold after a push: exactly the lock's shards, lock and card. */
export const expectPushed = async (hub: FakeHub, project: Project, revision = "main"): Promise<void> => {
  const wanted: Record<string, string> = {};
  const folder = packedFolder(project, "voices");
  const lock = await readFile(lockFile(project, "voices"), "latin1");
  for (const path of lock.match(/data\/[\w-]+\.parquet/g) ?? [])
    wanted[path] = await readFile(join(folder, path), "latin1");
  wanted["understudy.lock.json"] = lock;
  const { "README.md": card, ".gitattributes": _, ...tree } = treeOf(hub, revision);
  expect(tree).toEqual(wanted);
  expect(card).toContain("# voices");
};

export const putsOf = (hub: FakeHub): string[] =>
  hub.requests.filter((line) => line.startsWith("storage PUT"));
export const commitsOf = (hub: FakeHub): string[] => hub.requests.filter((line) => line.includes("/commit/"));

/** Every file below a folder, as text: for looking for what must not be there. */
export const allText = async (folder: string): Promise<string> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return (await Promise.all(files.map(async (file) => readFile(file, "latin1")))).join("\n");
};
