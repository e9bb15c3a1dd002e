import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { exists } from "../../src/core/files.ts";
import type { Project } from "../../src/core/project.ts";
import { lockFile } from "../../src/dataset/index.ts";
import { ascii, data, fmt, riff, s16, s24, sine } from "../audio/build-wav.ts";
import { projectWith, turnAt, type Corpus } from "../dataset/corpus.ts";
import { runUnderstudy, type RunOutcome } from "../support/run-understudy.ts";
import { refusal } from "./support.ts";

const FILE = "train/multi/Thor.json";
const CLIP = "train/multi_speech/Thor/1_1_user.wav";
const tone = sine(440, 16_000, { seconds: 0.05 });

const pack = (project: Project): Promise<RunOutcome> =>
  runUnderstudy(["dataset", "pack", "small"], { cwd: project.root });
const show = (project: Project, ...words: string[]): Promise<RunOutcome> =>
  runUnderstudy(["dataset", "show", "small", ...words], { cwd: project.root });

describe("dataset pack drops a dialogue by name, and dataset show names it:", () => {
  it.each<readonly [string, Uint8Array, string, RegExp]>([
    [
      "a WAV that is cut off",
      riff([fmt(), data(s16(tone), { size: 90_000 })]),
      "audio_truncated",
      /the audio is cut off/,
    ],
    ["an empty file", new Uint8Array(), "audio_empty_file", /empty/],
    ["a WAV without samples", riff([fmt(), data(new Uint8Array())]), "audio_no_samples", /no samples/],
    ["something that is no WAV", ascii("<html>404 Not Found</html>"), "audio_not_wav", /not a WAV|HTML/i],
    ["silence", riff([fmt(), data(s16(tone.map(() => 0)))]), "audio_silent", /digital silence/],
  ])("%s", async (_, clip, reason, detail) => {
    const project = await projectWith((corpus) => corpus.files.set(CLIP, clip));
    const packed = await pack(project);
    expect(packed).toMatchObject({
      exitCode: 0,
      stderr: "warning: 1 dropped; see why: understudy dataset show small --drops\n",
    });
    for (const words of [["--drops"], ["--role", "Thor"]]) {
      const { stdout } = await show(project, ...words);
      const line = stdout.split("\n").find((text) => text.includes("Thor multi question")) ?? stdout;
      expect(line).toMatch(/^audio_\w+ +Thor +train\/multi\/Thor\.json: "[^"]+" +2 +user audio /);
      expect(line).toContain(reason);
      expect(line).toContain(CLIP);
      expect(line).toMatch(detail);
    }
    const json = JSON.parse((await show(project, "--json")).stdout) as unknown;
    expect(json).toMatchObject({ drops: { list: [{ role: "Thor", turn: 1, reason }] } });
  });
});

const Shown = z.object({
  splits: z.record(z.string(), z.object({ audioSeconds: z.number() })),
  drops: z.object({ list: z.array(z.unknown()) }),
});

describe("dataset pack converts", () => {
  it.each<readonly [string, Uint8Array]>([
    ["24 bits", riff([fmt({ bits: 24 }), data(s24(tone))])],
    ["stereo", riff([fmt({ channels: 2 }), data(s16(tone.flatMap((value) => [value, value])))])],
    ["8 kHz", riff([fmt({ rate: 8000 }), data(s16(sine(440, 8000, { seconds: 0.05 })))])],
  ])("%s", async (_, clip) => {
    const seconds = async (project: Project): Promise<number> => {
      expect(await pack(project)).toMatchObject({ exitCode: 0, stderr: "" });
      const { splits, drops } = Shown.parse(JSON.parse((await show(project, "--json")).stdout));
      expect(drops.list).toEqual([]);
      return Object.values(splits).reduce((sum, { audioSeconds }) => sum + audioSeconds, 0);
    };
    const plain = await seconds(await projectWith());
    const converted = await seconds(await projectWith((corpus) => corpus.files.set(CLIP, clip)));
    expect(converted).toBeCloseTo(plain, 2);
  });
});

describe("dataset pack refuses, and leaves no lock:", () => {
  const refused = async (project: Project): Promise<string> => {
    const text = await refusal(["dataset", "pack", "small"], { cwd: project.root, exitCode: 2 });
    expect(await exists(lockFile(project, "small"))).toBe(false);
    return text;
  };

  it("a role file that is cut off, with file, line and column", async () => {
    const project = await projectWith();
    const path = join(project.datasets, "small", FILE);
    await writeFile(path, '[\n  {"dialogue": [');
    expect(await refused(project)).toContain(`error: ${path}:2:`);
    await writeFile(path, "");
    expect(await refused(project)).toContain(`error: ${path}:1:1: `);
  });

  it("two roles with one slug, naming both", async () => {
    const project = await projectWith(({ roles }) => {
      const thor = roles.find(({ stem }) => stem === "Thor");
      if (thor) roles.push({ ...thor, stem: "Loki" });
    });
    expect(await refused(project)).toContain('gives "Thor" and "Loki" the same slug "thor"');
  });

  it("a test dialogue that stands in train too, naming the pair", async () => {
    const test = "test_data/single_turn/Thor.json";
    const train = "train/single/Thor.json";
    const project = await projectWith((corpus: Corpus) => {
      Object.assign(corpus.spec["splits"] ?? {}, { devPerRole: 0 });
      const { user, role } = turnAt(corpus, test, { dialogue: 1, turn: 0 });
      Object.assign(turnAt(corpus, train, { dialogue: 0, turn: 0 }), { user, role });
    });
    const text = await refused(project);
    expect(text).toContain("error: The data set is not packed, because of:\n");
    expect(text).toContain(
      `  no_shared_text: ${train} dialogue 1 (train) and ${test} dialogue 2 (test) share a question and its answer`,
    );
  });

  it("a bad clip where the spec says fail, naming role, dialogue, turn and clip", async () => {
    const project = await projectWith((corpus) => {
      corpus.spec["audio"] = { onBadClip: "fail" };
      corpus.files.set(CLIP, ascii("no sound"));
    });
    expect(await refused(project)).toMatch(
      new RegExp(
        `error: Thor, ${FILE} dialogue 2 \\(thor-multi-[0-9a-f]{12}\\), turn 2: user audio ${CLIP}: `,
      ),
    );
  });

  it("a corpus that is not there", async () => {
    const project = await projectWith(({ spec }) => {
      Object.assign(spec["source"] ?? {}, { path: "elsewhere" });
    });
    expect(await refused(project)).toContain(
      `error: There is no file ${join(project.datasets, "elsewhere", "roles.json")}\nhint: is the corpus downloaded`,
    );
  });
});
