import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { textWidth } from "../../src/cli/text-width.ts";
import { projectAt } from "../../src/core/project.ts";
import { makeProject } from "../support/temporary-project.ts";
import { runUnderstudy, type RunOutcome } from "../support/run-understudy.ts";
import { makeCorpus, turnAt, writeCorpus } from "../dataset/corpus.ts";
import { removeFolder } from "../support/remove-folder.ts";

const BROKEN = "train/multi/Thor.json";
let root = "";
let id = "";

const show = (...words: string[]): Promise<RunOutcome> =>
  runUnderstudy(["dataset", "show", "small", ...words], { cwd: root });
const narrow = (...words: string[]): Promise<RunOutcome> =>
  runUnderstudy(["dataset", "show", "small", ...words], { cwd: root, isTerminal: true, width: 80 });

// One clip of a second turn is cut off, and one role has a long name.
beforeAll(async () => {
  root = await makeProject();
  const corpus = makeCorpus();
  const path = String(turnAt(corpus, BROKEN, { dialogue: 1, turn: 1 })["role_speech_path"]);
  corpus.files.set(path, corpus.files.get(path)?.slice(0, 500) ?? "");
  for (const role of corpus.roles)
    if (role.stem === "Thor") role.displayName = "Thor Odinson of Asgard, the Avenger";
  await writeCorpus(projectAt(root), corpus);
  const packed = await runUnderstudy(["dataset", "pack", "small"], { cwd: root });
  expect(packed.exitCode, packed.stderr).toBe(0);
  const { stdout } = await show("--split", "test", "--role", "thor", "--json");
  const List = z.object({ dialogues: z.array(z.object({ id: z.string(), turns: z.int() })) });
  id = List.parse(JSON.parse(stdout)).dialogues.find(({ turns }) => turns === 2)?.id ?? "";
  return () => removeFolder(root);
});

describe("dataset show", () => {
  it("counts turns from 1 for people, and from 0 in JSON", async () => {
    expect((await show("--drops")).stdout).toMatch(/^audio_truncated +Thor +.* 2  cosyvoice2 audio /m);
    expect(JSON.parse((await show("--drops", "--json")).stdout)).toMatchObject({ drops: [{ turn: 1 }] });
    const dialogue = await show("--dialogue", id, "--play", "out");
    expect(dialogue.stdout).toMatch(/^turn 1$/m);
    expect(dialogue.stdout).not.toMatch(/^turn 0$/m);
    await expect(readFile(join(root, "out", `${id}-2-user.wav`))).resolves.toBeDefined();
    expect(JSON.parse((await show("--dialogue", id, "--json")).stdout)).toMatchObject({
      turns: [{ index: 0 }, { index: 1 }],
    });
  });

  it("writes the card that a push would publish", async () => {
    const { stdout } = await show("--card", "card");
    expect(stdout.trim().split("\n").at(-1)).toBe(join(root, "card", "README.md"));
    const text = await readFile(join(root, "card", "README.md"), "utf8");
    expect(text).toContain("## How to load");
    const [, plot = ""] = /\]\((card\/[^)]+\.svg)\)/.exec(text) ?? [];
    expect(await readFile(join(root, "card", plot), "utf8")).toContain("<svg");
    expect((await show("--card", "card")).exitCode).toBe(0);
    // Somebody's own README, as in `--card .`, is not written over.
    await writeFile(join(root, "README.md"), "mine");
    expect(await show("--card", ".")).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("README.md is there already"),
    });
    expect(await readFile(join(root, "README.md"), "utf8")).toBe("mine");
  });

  it("fits a terminal of 80 columns, in every view", async () => {
    for (const words of [
      [],
      ["--drops"],
      ["--split", "test"],
      ["--role", "thor"],
      ["--dialogue", id],
      ["--near"],
    ]) {
      const { stdout } = await narrow(...words);
      expect(stdout.split("\n").filter((line) => textWidth(line) > 80)).toEqual([]);
    }
  });

  it("breaks no label inside its brackets", async () => {
    for (const width of [60, 64, 70, 80]) {
      const { stdout } = await runUnderstudy(["dataset", "show", "small", "--dialogue", id], {
        cwd: root,
        isTerminal: true,
        width,
      });
      expect(stdout.match(/\[/g)).toHaveLength(8);
      expect(stdout.match(/\[[^\]\n]+ s\]/g), `at ${width}`).toHaveLength(8);
    }
  });

  it("says of which kind the dialogues of a split are", async () => {
    const { stdout } = await show("--split", "test", "--role", "thor");
    expect(stdout).toMatch(/^id +role +kind +turns /m);
    expect(stdout.match(/ multi +2 /g)).toHaveLength(2);
  });

  it("says in every view when the spec has changed since", async () => {
    const spec = join(projectAt(root).datasets, "small.yaml");
    const before = await readFile(spec, "utf8");
    const views = [[], ["--drops"], ["--near"], ["--split", "dev"], ["--role", "thor"], ["--dialogue", id]];
    for (const words of views) expect((await show(...words)).stderr).toBe("");
    const model = { model: "m", folder: "f", threshold: 0.9 };
    const changed = { ...JSON.parse(before), nearDuplicates: { models: { en: model, zh: model } } };
    await writeFile(spec, JSON.stringify(changed));
    for (const words of views) {
      expect((await show(...words)).stderr).toContain("small.yaml has changed since small was packed");
      expect(JSON.parse((await show(...words, "--json")).stdout)).toMatchObject({ specChanged: true });
    }
    expect((await show("--near")).stdout).toBe(
      "near-duplicates were not looked for: it was packed with a spec without nearDuplicates\n",
    );
    await writeFile(spec, "schemaVersion: [");
    expect((await show("--drops")).exitCode).toBe(0);
    expect((await show()).stdout).toContain("small: its spec cannot be read now");
    await writeFile(spec, before);
  });
});
