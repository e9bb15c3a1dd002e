import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { readLock } from "../../src/dataset/index.ts";
import type { Project } from "../../src/core/project.ts";
import { runUnderstudy } from "../support/run-understudy.ts";
import { makeDataStage, packOnce } from "../workflow/data-stage.ts";
import type { Stage } from "../workflow/support.ts";
import { refusal } from "./support.ts";

packOnce();

const SHORT = [
  "recipes/quickstart.yaml",
  "--set",
  "training.duration.steps=4",
  "--set",
  "evaluation.everySteps=2",
];

// One byte of one clip, so that size and footer stay what they were.
const editShard = async (project: Project): Promise<string> => {
  const path = (await readLock(project, "greenroom")).splits.test.shards[0]?.path ?? "";
  const file = join(project.datasets, "packed", "greenroom", path);
  const bytes = readFileSync(file);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(file, bytes);
  return path;
};

const Started = z.object({ run: z.object({ id: z.string(), state: z.string() }) });

const trainedRun = async ({ project, environment }: Stage): Promise<string> => {
  const started = await runUnderstudy(["run", "start", ...SHORT, "-f", "--json"], {
    cwd: project.root,
    environment,
  });
  expect(started).toMatchObject({ exitCode: 0, stderr: "" });
  const { run } = Started.parse(JSON.parse(started.stdout));
  expect(run.state).toBe("succeeded");
  return run.id;
};

describe("an edited shard", { timeout: 120_000 }, () => {
  it("is named and refused by dataset check, run start and eval start, and mended by dataset pack", async () => {
    const stage = await makeDataStage();
    const { project, environment } = stage;
    const options = { cwd: project.root, environment };
    const run = await trainedRun(stage);
    const path = await editShard(project);
    const commands = [
      ["dataset", "check", "greenroom"],
      ["run", "start", ...SHORT],
      ["run", "start", ...SHORT, "--dry-run"],
      ["eval", "start", run],
      ["report", "build", run],
    ];
    for (const words of commands) {
      const text = await refusal(words, { ...options, exitCode: 2 });
      expect(text).toContain('error: The shards of "greenroom" are not what its lock says:');
      expect(text).toMatch(new RegExp(`^ {2}${path} has SHA-256 [0-9a-f]{64}, not [0-9a-f]{64}$`, "m"));
      expect(text).toContain("hint: pack them again: understudy dataset pack greenroom");
    }
    // What was refused left nothing behind, and what was there is still there.
    const listed = await runUnderstudy(["run", "list", "--all", "--json"], options);
    expect(JSON.parse(listed.stdout)).toMatchObject([{ id: run, state: "succeeded" }]);
    expect(await runUnderstudy(["dataset", "pack", "greenroom"], options)).toMatchObject({ exitCode: 0 });
    expect(await runUnderstudy(["dataset", "check", "greenroom"], options)).toMatchObject({ exitCode: 0 });
    expect(await runUnderstudy(["eval", "start", run], options)).toMatchObject({ exitCode: 0 });
  });
});

describe("a data set lock", () => {
  it.each([
    ["of another version", '{"schemaVersion": 2}', "schemaVersion: expected 1, not 2"],
    ["that is cut off", '{"schemaVersion": 1,', "is not valid JSON: "],
    ["that is empty", "", "is not valid JSON: "],
  ])("%s is refused by every reader", async (_, content, problem) => {
    const { project, environment } = await makeDataStage();
    writeFileSync(join(project.datasets, "greenroom.lock.json"), content);
    for (const words of [
      ["dataset", "show", "greenroom"],
      ["dataset", "check", "greenroom"],
      ["recipe", "check", "recipes/quickstart.yaml"],
      ["run", "start", "recipes/quickstart.yaml"],
    ]) {
      const text = await refusal(words, { cwd: project.root, environment, exitCode: 2 });
      expect(text).toContain(join(project.datasets, "greenroom.lock.json"));
      expect(text).toContain(problem);
      expect(text).toContain("or pack again: understudy dataset pack greenroom");
    }
  });

  it("whose shards are not on this machine is refused, with every shard named", async () => {
    const { project, environment } = await makeDataStage();
    rmSync(join(project.datasets, "packed"), { recursive: true });
    const text = await refusal(["run", "start", "recipes/quickstart.yaml"], {
      cwd: project.root,
      environment,
      exitCode: 2,
    });
    expect(text.match(/parquet is not there$/gm)).toHaveLength(4);
  });

  it("does not hide a shard that is cut off", async () => {
    const { project, environment } = await makeDataStage();
    const path = (await readLock(project, "greenroom")).splits.dev.shards[0]?.path ?? "";
    truncateSync(join(project.datasets, "packed", "greenroom", path), 1000);
    const options = { cwd: project.root, environment, exitCode: 2 };
    expect(await refusal(["run", "start", "recipes/quickstart.yaml"], options)).toContain(
      `${path} has 1000 bytes, not `,
    );
  });
});
