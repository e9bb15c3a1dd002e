import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { describe, expect, it } from "vitest";
import { runProgram } from "../../src/core/process.ts";
import {
  datasetCard,
  loadSpec,
  packDataset,
  packedFolder,
  type PackResult,
} from "../../src/dataset/index.ts";
import type { Project } from "../../src/core/project.ts";
import { testPython } from "../support/python.ts";
import { projectWith } from "./corpus.ts";
import { AUDIO_COLUMNS, judgeWith, runPython } from "./judging.ts";
import { oldDatasetsSuite } from "./old-datasets.ts";

const python = testPython() ?? "";
const REPO = "someone/small";

interface Published {
  readonly project: Project;
  readonly folder: string;
  readonly text: string;
  readonly lock: PackResult["lock"];
}

/** A packed folder with its card, as it lies on the Hub. */
const published = async (footer: string): Promise<Published> => {
  const project = await projectWith((corpus) => {
    corpus.spec["shards"] = { shardBytes: 12_000, rowGroupBytes: 4_000, footer };
    corpus.spec["description"] = 'Roles: "small" | <b>and</b> 小 # not a heading';
  });
  const { lock } = await packDataset({ project, name: "small" });
  const { spec } = await loadSpec(project, "small");
  const folder = packedFolder(project, "small");
  const { text, plots } = await datasetCard({ lock, spec, folder, repo: REPO });
  await writeFile(join(folder, "README.md"), text);
  for (const { path, svg } of plots) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), svg);
  }
  return { project, folder, text, lock };
};
const example = (text: string, language: string): string =>
  new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(text)?.[1] ?? "";

const judgeFolder = async (interpreter: string, footer: string): Promise<void> => {
  const { project, folder, lock } = await published(footer);
  const { splits } = await judgeWith(interpreter, project, { name: "small", words: [folder] });
  for (const [split, { audio, rows }] of Object.entries(splits)) {
    expect(audio).toEqual(AUDIO_COLUMNS);
    expect(rows).toHaveLength(Object.entries(lock.splits).find(([name]) => name === split)?.[1].rows ?? -1);
  }
};

const title = python === "" ? " (skipped: no Python; set UNDERSTUDY_TEST_PYTHON)" : "";
describe.skipIf(python === "")(`datasets reads a folder by its card${title}`, () => {
  it("with the counts of the splits verified", async () => judgeFolder(python, "list"), 120_000);

  it("as its example says, and not when the card's counts are wrong", async () => {
    const { folder, text, project } = await published("list");
    const script = example(text, "python").replace(REPO, folder);
    const right = await runPython(python, project.root, ["-c", script]);
    expect(right.exitCode, right.stderr).toBe(0);
    expect(right.stdout).toMatch(/^\S+ .* test question .* 1644 .* test answer .*$/m);
    await writeFile(join(folder, "README.md"), text.replace("num_examples: 10", "num_examples: 11"));
    const wrong = await runPython(python, project.root, ["-c", script]);
    expect(wrong.exitCode).not.toBe(0);
    expect(wrong.stderr).toContain("NonMatchingSplitsSizesError");
  }, 120_000);
});

oldDatasetsSuite("datasets 3 reads a folder by its card", (interpreter) => {
  it("where the footer is compat", async () => judgeFolder(interpreter, "compat"), 120_000);
});

describe("the card's examples", () => {
  it("run in DuckDB", async () => {
    const { folder, text } = await published("list");
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    const sql = example(text, "sql").replace(`hf://datasets/${REPO}`, folder);
    const reader = await connection.runAndReadAll(sql);
    expect(reader.getRowObjectsJson()).toEqual(
      ["Professor Dorr", "Thor", "胡桃"].map((role_name) => ({ role_name, dialogues: "4", turns: "6" })),
    );
    connection.closeSync();
    instance.closeSync();
  });

  it("run with hyparquet", async () => {
    const { folder, text } = await published("list");
    await symlink(resolve(import.meta.dirname, "../../node_modules"), join(folder, "node_modules"));
    await writeFile(join(folder, "example.mjs"), example(text, "javascript"));
    const { exitCode, stdout, stderr } = await runProgram([process.execPath, "example.mjs"], {
      cwd: folder,
      env: {},
    });
    expect(exitCode, stderr).toBe(0);
    expect(stdout).toMatch(/^\S+ .* test question .* 1644 .* test answer .*$/m);
  });
});
