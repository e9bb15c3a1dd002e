import { readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { exists } from "../../src/core/files.ts";
import type { Project } from "../../src/core/project.ts";
import { lockFile, packDataset, packedFolder, packShare, parseShare } from "../../src/dataset/index.ts";
import { projectWith, turnAt, type Corpus } from "./corpus.ts";

// The worker as it is installed: threads cannot run TypeScript.
const module = pathToFileURL(resolve(import.meta.dirname, "../../dist/program/worker.js"));

const severalShards = (corpus: Corpus): void => {
  corpus.spec["shards"] = { shardBytes: 12_000, rowGroupBytes: 4_000 };
  corpus.files.set("train/single_speech/Thor/1_0_user.wav", "not audio at all");
};

/** Every byte that packing leaves for others: shards and lock. */
const outcome = async (project: Project): Promise<Record<string, string>> => {
  const folder = join(packedFolder(project, "small"), "data");
  const files: Record<string, string> = { lock: await readFile(lockFile(project, "small"), "utf8") };
  for (const name of (await readdir(folder)).toSorted())
    files[name] = (await readFile(join(folder, name))).toString("base64");
  return files;
};
const alone = async (): Promise<Record<string, string>> => {
  const project = await projectWith(severalShards);
  await packDataset({ project, name: "small" });
  return outcome(project);
};

describe("packing with several threads", () => {
  it.each([2, 5])("gives the bytes of one, with %i", async (count) => {
    const project = await projectWith(severalShards);
    const seen = new Map<string, number>();
    const shares: number[] = [];
    await packDataset({
      project,
      name: "small",
      threads: { count, module },
      onProgress: ({ phase, done, share = Math.max(0, ...shares) }) => {
        shares.push(share);
        seen.set(phase, Math.max(done, seen.get(phase) ?? 0));
      },
    });
    expect(shares).toEqual(shares.toSorted((a, b) => a - b));
    expect(Math.max(...shares)).toBeGreaterThan(0.5);
    expect(Math.max(...shares)).toBeLessThanOrEqual(1);
    expect(await outcome(project)).toEqual(await alone());
    expect(seen).toEqual(
      new Map([
        ["check", 30],
        ["write", 29],
      ]),
    );
  });

  it("tells an error of a thread as it was, and ends", async () => {
    const project = await projectWith((corpus) => {
      severalShards(corpus);
      corpus.spec["audio"] = { onBadClip: "fail" };
    });
    const packing = packDataset({ project, name: "small", threads: { count: 2, module } });
    await expect(packing).rejects.toMatchObject({
      code: "CLIP_BAD",
      actor: "user",
      hint: "repair the clip, or set audio.onBadClip to drop",
    });
    expect(await exists(lockFile(project, "small"))).toBe(false);
  });

  it("ends when it is told to, and goes on afterwards", async () => {
    const project = await projectWith(severalShards);
    const stop = new AbortController();
    const packing = packDataset({
      project,
      name: "small",
      threads: { count: 2, module },
      signal: stop.signal,
      onProgress: ({ phase, done }) => {
        if (phase === "write" && done > 5) stop.abort(new Error("enough"));
      },
    });
    await expect(packing).rejects.toThrow("enough");
    expect(await exists(lockFile(project, "small"))).toBe(false);
    await packDataset({ project, name: "small", threads: { count: 2, module } });
    expect(await outcome(project)).toEqual(await alone());
  });

  it("in strict mode stops at what would be dropped", async () => {
    const project = await projectWith((corpus) => {
      turnAt(corpus, "train/single/hutao.json", { dialogue: 2, turn: 0 }).role = "";
    });
    const packing = packDataset({ project, name: "small", strict: true, threads: { count: 2, module } });
    await expect(packing).rejects.toMatchObject({
      code: "DIALOGUE_BAD",
      message: expect.stringMatching(
        /^hutao, train\/single\/hutao\.json: .*, turn 1: text_empty: the role text is empty$/,
      ),
    });
  });
});

describe("packing in shares", () => {
  it("gives the bytes of one pack, whoever comes last", async () => {
    const project = await projectWith(severalShards);
    const share = async (text: string): ReturnType<typeof packShare> =>
      packShare({ project, name: "small" }, parseShare(text));
    expect(await share("1/3")).toMatchObject({ outcome: "waiting", for: "survey" });
    expect(await share("1/3")).toMatchObject({ outcome: "waiting", for: "survey" });
    expect(await share("3/3")).toMatchObject({ outcome: "waiting", for: "survey" });
    // The second has the last part of the survey, and goes on to its shards at once.
    expect(await share("2/3")).toMatchObject({ outcome: "waiting", for: "shards" });
    expect(await share("1/3")).toMatchObject({ outcome: "waiting", for: "shards" });
    expect(await exists(lockFile(project, "small"))).toBe(false);
    expect(await share("3/3")).toMatchObject({ outcome: "packed", reused: false });
    expect(await outcome(project)).toEqual(await alone());
    expect(await share("1/3")).toMatchObject({ outcome: "packed", reused: true });
  });

  it("that run at once do not disturb each other", async () => {
    const project = await projectWith(severalShards);
    const all = async (): Promise<unknown> =>
      Promise.all(
        ["1/2", "2/2"].map(async (text) => packShare({ project, name: "small" }, parseShare(text))),
      );
    await all();
    await all();
    await all();
    expect(await outcome(project)).toEqual(await alone());
  });

  it.each(["0/3", "4/3", "1", "1/0", "a/b", "1/3/5", "-1/3", "1.5/3"])("refuses %j", (text) => {
    expect(() => parseShare(text)).toThrow(expect.objectContaining({ code: "SHARE_INVALID" }));
  });
});
