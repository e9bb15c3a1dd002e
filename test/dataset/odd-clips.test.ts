import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openClipReader, writeClip } from "../../src/audio/index.ts";
import type { Project } from "../../src/core/project.ts";
import { loadSpec, packDataset } from "../../src/dataset/index.ts";
import { inspect } from "../../src/dataset/pack/inspect.ts";
import { openSource } from "../../src/dataset/source/open-source.ts";
import { projectWith, toneClip, turnAt } from "./corpus.ts";
import { openGiven, projectOf, readAll } from "./source/support.ts";

const CLIP = "train/multi_speech/Thor/1_1_user.wav";
const dropsAfter = async (change: (path: string, project: Project) => void): Promise<unknown> => {
  const project = await projectWith();
  change(join(project.datasets, "small", CLIP), project);
  const { lock } = await packDataset({ project, name: "small" });
  return lock.drops.list.map(({ reason, turn, detail }) => [reason, turn, detail]);
};

describe("the name of a clip may lead to", () => {
  it("a pipe that nobody writes to, which is not waited for", async () => {
    const drops = await dropsAfter((path) => {
      rmSync(path);
      execFileSync("mkfifo", [path]);
    });
    expect(drops).toEqual([
      ["audio_not_a_file", 1, `user audio ${CLIP}: ${CLIP} is a folder, pipe or device and not a file`],
    ]);
  });

  it("a folder", async () => {
    const drops = await dropsAfter((path) => {
      rmSync(path);
      mkdirSync(path);
    });
    expect(drops).toEqual([["audio_not_a_file", 1, expect.stringContaining("is a folder")]]);
  });

  it("a folder, where a file of the role is looked for, and the pack stops by name", async () => {
    for (const path of ["role_metadata/role_voices/Thor.wav", "train/single/Thor.json"]) {
      const project = await projectWith();
      const file = join(project.datasets, "small", path);
      rmSync(file);
      mkdirSync(file);
      await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({
        code: "SOURCE_UNREADABLE",
        message: expect.stringContaining(file),
      });
    }
  });

  it("more than a clip can be, which is not read", async () => {
    // Sparse: it takes no space, and could not be read in one piece.
    const drops = await dropsAfter((path) => truncateSync(path, 2_500_000_000));
    expect(drops).toEqual([
      ["audio_too_large", 1, `user audio ${CLIP}: ${CLIP} has 2500000000 bytes, more than 128000000`],
    ]);
  });
});

describe("a dialogue that is too large for a row", () => {
  it("is left out with its size", async () => {
    const project = await projectWith();
    const loaded = await loadSpec(project, "small");
    const source = await openSource(loaded, project);
    const samples = new Float32Array(20_000_000);
    samples[5] = 0.5;
    const bytes = writeClip(samples);
    const assembler = {
      source: {
        scripts: new Map<string, string>(),
        clip: async () => ({ outcome: "bytes" as const, bytes }),
      },
      readClip: await openClipReader(),
    };
    for await (const found of source.dialogues("test_data/single_turn/Thor.json"))
      expect(await inspect(found, assembler, loaded.spec)).toMatchObject({
        reason: "too_large",
        turn: null,
        detail: expect.stringMatching(/^it takes 1600\d{5} bytes in a shard, more than 100000000$/),
      });
  });
});

describe("audio inside a record", () => {
  const base64 = Buffer.from(toneClip(3)).toString("base64");
  const line = (audio: string): string =>
    JSON.stringify({ role_id: "thor", turns: [{ user_text: "q", role_text: "a", user_audio: audio }] });

  it.each([
    ["after white space", `\n data:audio/wav;base64,${base64}`],
    ["with the scheme in capitals", `DATA:audio/wav;BASE64,${base64}`],
    ["without a prefix", base64.padEnd(base64.length + 4_000, "\n")],
  ])("is read %s", async (_, audio) => {
    const source = await openGiven(await projectOf({ format: "manifest" }, { "a.jsonl": line(audio) }));
    const [draft] = (await readAll(source)).again;
    const clip = draft?.turns[0] && (await source.clip(draft.turns[0].user));
    expect(clip).toEqual({ outcome: "bytes", bytes: toneClip(3) });
  });

  it("that is no path does not fill the lock with its text", async () => {
    const project = await projectWith((corpus) => {
      turnAt(corpus, "train/multi/Thor.json", { dialogue: 1, turn: 1 })["user_speech_path"] = base64;
    });
    const { lock } = await packDataset({ project, name: "small" });
    expect(lock.drops.byReason).toEqual({ audio_missing: 1 });
    expect(lock.drops.list[0]?.detail.length).toBeLessThan(500);
  });
});
