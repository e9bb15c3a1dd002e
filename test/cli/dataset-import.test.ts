import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectWith, turnAt } from "../dataset/corpus.ts";
import { runUnderstudy } from "../support/run-understudy.ts";
import { temporaryProject } from "../support/temporary-project.ts";

describe("dataset import", () => {
  it("makes a data set of a corpus that can be packed, and names its defects", async () => {
    const { root: cwd, datasets } = await projectWith((corpus) => {
      turnAt(corpus, "test_data/multi_turn/Thor.json", { dialogue: 0, turn: 0 }).user = " what is asr?";
      let said = 0;
      for (const [path, all] of corpus.dialogues)
        for (const { dialogue } of path.includes("hutao") ? all : [])
          for (const turn of dialogue) turn.role = `旅行者，你好${"呀".repeat(said++)}。`;
    });
    await rm(join(datasets, "small", "roles.json"));
    const words = [
      "dataset",
      "import",
      "datasets/small",
      "mine",
      "--revision",
      "2026-05-01",
      "--licence",
      "CC0-1.0",
    ];
    const made = await runUnderstudy(words, { cwd });
    expect(made.exitCode, made.stderr).toBe(0);
    expect(made.stdout).toContain(
      "mine: speechrole-release, 3 roles (2 English, 1 Chinese), those held out are drawn by the seed\n",
    );
    expect(made.stdout).toContain("  18 dialogues to train on, 12 test sessions; 42 turns\n");
    expect(made.stdout).toContain("next: look at both, then understudy dataset pack mine\n");
    expect(made.stderr).toContain("asr_text Thor: ");
    const spec = await readFile(join(datasets, "mine.yaml"), "utf8");
    expect(spec).toContain("revision: 2026-05-01\n");
    expect(spec).toContain("licence: CC0-1.0\n");
    expect(await runUnderstudy(words, { cwd })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("take another name, or --force to write over it"),
    });
    expect((await runUnderstudy([...words, "--force"], { cwd })).exitCode).toBe(0);
    // The clips are tones of 50 ms, spoken faster than any voice.
    await writeFile(
      join(datasets, "mine.yaml"),
      `${spec}checks:\n  charactersPerSecond: { en: [0, 10000], zh: [0, 10000] }\n`,
    );
    const packed = await runUnderstudy(["dataset", "pack", "mine"], { cwd });
    expect(packed.exitCode, packed.stderr).toBe(0);
  });

  it("says what it looked for where there is no corpus", async () => {
    const { root: cwd } = await temporaryProject();
    await mkdir(join(cwd, "empty"));
    for (const [folder, words] of [
      ["empty", "expected role files, a .jsonl or .csv manifest, or Parquet"],
      ["nowhere", "There is no file or folder"],
    ] as const)
      expect(await runUnderstudy(["dataset", "import", folder, "mine"], { cwd })).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining(words),
      });
    expect(await runUnderstudy(["dataset", "import", "empty", "No Name"], { cwd })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('"No Name" cannot be the name'),
    });
  });

  it("of a manifest names its files, and the first lines of no use", async () => {
    const { root: cwd } = await temporaryProject();
    await mkdir(join(cwd, "mine"));
    const turns = [{ user_text: "Who?", role_text: "Me.", user_audio: "a.wav" }];
    const lines = [{ role_id: "thor", turns }, ...[1, 2, 3, 4].map(() => ({ role: "thor", turns }))];
    await writeFile(join(cwd, "mine", "a.jsonl"), lines.map((line) => JSON.stringify(line)).join("\n"));
    const made = await runUnderstudy(["dataset", "import", "mine/a.jsonl", "mine"], { cwd });
    expect(made.exitCode, made.stderr).toBe(0);
    expect(made.stdout).toContain(
      "  1 dialogues to train on, 0 test sessions, 4 of no use; 1 turns\n  a.jsonl: 1 dialogues, 4 of no use\n",
    );
    const wrong = "no role_id; did you mean role_id instead of role?";
    expect(made.stderr).toContain(
      `of_no_use (4 times): a pack leaves these out; a.jsonl:2: ${wrong}, a.jsonl:3: ${wrong}, a.jsonl:4: ${wrong}, …\n`,
    );
  });

  it("tells completions of a model from a corpus, and turns them into role files", async () => {
    const { root: cwd } = await temporaryProject();
    const put = async (name: string, text: string): Promise<void> => {
      await mkdir(join(cwd, "raw", "Thor"), { recursive: true });
      await writeFile(join(cwd, "raw", "Thor", name), text);
    };
    await put("0_0.json", '[{"dialogue": [{"user": "Who are you?", "role": "Thor."}]}]');
    await put("0_1.json", '[{"user": "Who are y');
    await put("a_0.json", "[]");
    expect(await runUnderstudy(["dataset", "import", "raw", "mine"], { cwd })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("understudy dataset import-completions"),
    });
    const words = ["dataset", "import-completions", "raw", "out"];
    expect(await runUnderstudy(words, { cwd })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("--kind single or --kind multi"),
    });
    const made = await runUnderstudy([...words, "--kind", "single"], { cwd });
    expect(made.exitCode, made.stderr).toBe(0);
    expect(made.stdout).toContain("files 2, roles 1, dialogues 1, turns 1\n");
    expect(made.stderr).toContain("1 files could not be read: out/quarantine.jsonl says why");
    expect(made.stderr).toContain(
      "1 files were not read, for they are not named {request}_{answer}.json, as 0_0.json: Thor/a_0.json",
    );
    expect(made.stdout).toContain("next: synthesize the speech of these dialogues");
    expect(await runUnderstudy(["dataset", "import", "out", "mine"], { cwd })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("these dialogues have no audio yet"),
    });
    expect(JSON.parse(await readFile(join(cwd, "out", "Thor.json"), "utf8"))).toHaveLength(1);
  });
});
