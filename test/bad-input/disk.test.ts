import { cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { projectWith, type Corpus } from "../dataset/corpus.ts";
import { runUnderstudy } from "../support/run-understudy.ts";
import { makeDataStage, packOnce } from "../workflow/data-stage.ts";
import { canMount, refusal, smallDisk } from "./support.ts";

packOnce();

const severalShards = (corpus: Corpus): void => {
  corpus.spec["shards"] = { shardBytes: 12_000, rowGroupBytes: 4_000 };
};

describe("no space for the checkpoints", () => {
  it("of a whole 7B model is told with both numbers, before a run exists", async () => {
    const { project, environment } = await makeDataStage();
    const model = join(project.state, "models", "Org--Omni@abc");
    mkdirSync(model, { recursive: true });
    writeFileSync(join(model, "config.json"), "{}");
    const set = [
      "model={kind: hub, id: Org/Omni, revision: abc}",
      "training.mode=full",
      "training.duration.steps=1000",
      "evaluation.everySteps=1",
    ].flatMap((text) => ["--set", text]);
    const options = { cwd: project.root, environment };
    const { exitCode, stdout, stderr } = await runUnderstudy(
      ["run", "start", "recipes/quickstart.yaml", ...set],
      options,
    );
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(stderr).toMatch(
      /error: The job would not run here:\n {2}disk: [\d.]+ [MG]B free, 96648\.0 GB needed \(\d+ and 96648000000000 bytes\)\n/,
    );
    expect(stderr).toContain(`hint: free some space where ${join(project.state, "runs")}`);
    expect(stderr).toContain("or set UNDERSTUDY_STATE to a larger disk");
    const listed = await runUnderstudy(["run", "list", "--json"], options);
    expect(JSON.parse(listed.stdout)).toEqual([]);
  });

  it.skipIf(!canMount)("on a small disk is told in numbers that differ", async () => {
    const { project, environment } = await makeDataStage();
    const state = join(project.root, "small-disk");
    smallDisk(state, "8m");
    cpSync(project.state, state, { recursive: true, verbatimSymlinks: true });
    const text = await refusal(["run", "start", "recipes/quickstart.yaml"], {
      cwd: project.root,
      environment: { ...environment, UNDERSTUDY_STATE: state },
      exitCode: 3,
    });
    expect(text).toMatch(/disk: \d\.\d MB free, \d{2,}\.\d MB needed \(\d{7} and \d{8} bytes\)/);
  });
});

describe.skipIf(!canMount)("a disk that fills up", () => {
  it("during dataset pack is told, leaves no lock, and the same command goes on when there is space", async () => {
    const project = await projectWith(severalShards);
    const packed = join(project.datasets, "packed");
    const disk = smallDisk(packed, "128k");
    const options = { cwd: project.root };
    const text = await refusal(["dataset", "pack", "small"], { ...options, exitCode: 2 });
    expect(text).toContain(`error: No space left while writing ${packed}`);
    expect(text).toContain("hint: free some space and run the same command again: ");
    expect(await refusal(["dataset", "show", "small"], { ...options, exitCode: 2 })).toContain(
      "is not packed",
    );
    const data = join(packed, "small", "data");
    expect(readdirSync(data).filter((name) => !name.endsWith(".parquet"))).toEqual([]);
    const finished = readdirSync(data).length;
    expect(finished).toBeGreaterThan(1);
    disk.grow("4m");
    const again = await runUnderstudy(["dataset", "pack", "small"], options);
    expect(again.exitCode).toBe(0);
    const reused = Number(/^small is packed; (\d+) shards were there already$/m.exec(again.stdout)?.[1]);
    // Of the last one there may have been no space for what proves it.
    expect([finished - 1, finished]).toContain(reused);
    expect(await runUnderstudy(["dataset", "check", "small"], options)).toMatchObject({ exitCode: 0 });
  });

  it("under the state folder is told by whatever writes there, and nothing is lost", async () => {
    const project = await projectWith();
    const state = join(project.root, "small-disk");
    smallDisk(state, "256k");
    const environment = { UNDERSTUDY_STATE: state };
    const options = { cwd: project.root, environment };
    expect(await runUnderstudy(["run", "list"], options)).toMatchObject({ exitCode: 0 });
    const filler = join(state, "filler");
    fill(filler);
    const text = await refusal(["dataset", "pack", "small"], { ...options, exitCode: 2 });
    expect(text).toContain(`error: No space left while writing ${state}`);
    rmSync(filler);
    expect(await runUnderstudy(["dataset", "pack", "small"], options)).toMatchObject({ exitCode: 0 });
    expect(await runUnderstudy(["run", "list"], options)).toMatchObject({ exitCode: 0 });
  });
});

function fill(path: string): void {
  for (let size = 1 << 20; size >= 1024; size >>= 1) {
    try {
      for (;;) writeFileSync(path, Buffer.alloc(size), { flag: "a" });
    } catch {
      // Full for pieces of this size: smaller ones fit.
    }
  }
}
