import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Supervisor } from "../../src/launch/supervisor.ts";
import { BUDGETS } from "../../src/workflow/budgets.ts";
import { followRun, followToSuccess } from "../../src/workflow/follow.ts";
import { resumeRun } from "../../src/workflow/runs.ts";
import { begin, makeStage, ran, reasons, RUN, running, until, type Stage } from "./support.ts";

const supervisor = (stage: Stage, attempt: number): Supervisor =>
  Supervisor.parse(
    JSON.parse(
      readFileSync(
        join(stage.project.state, "runs", RUN, "attempts", String(attempt), "supervisor.json"),
        "utf8",
      ),
    ),
  );

describe("a run and its attempts", { timeout: 300_000 }, () => {
  it("goes from start to succeeded with its proof, and says what happened", async () => {
    const stage = await makeStage();
    const shop = await stage.shop();
    const run = await ran(stage, shop);
    expect(run).toMatchObject({ state: "succeeded", stopRequested: false });
    expect(shop.store.attempts(RUN)).toMatchObject([{ number: 1, reason: "succeeded", exitCode: 0 }]);
    expect(stage.log("starts.log")).toEqual([`${RUN} 1`]);
    expect(shop.store.series(RUN, "dev/loss")).toEqual([
      { step: 2, value: 7 },
      { step: 4, value: 5 },
    ]);
    const said = stage.said.map((progress) => progress.type);
    expect(said.filter((type) => type === "step")).toHaveLength(4);
    expect(said.filter((type) => type === "checkpoint")).toHaveLength(2);
    const states = shop.store
      .events(RUN, { types: ["run.state"] })
      .map(({ data }) => (typeof data === "object" && data !== null && "to" in data ? data.to : ""));
    expect(states.slice(0, 3)).toEqual(["packaged", "submitting", "starting"]);
    expect(states.at(-1)).toBe("succeeded");
    expect(await followRun(shop, RUN)).toEqual(run);
  });

  it("is not succeeded by exit code 0 alone", async () => {
    const stage = await makeStage();
    stage.behave({ train: { skipFinal: true } });
    const shop = await stage.shop();
    expect(await ran(stage, shop)).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("last step 4"),
    });
    expect(reasons(shop)).toEqual(["no_proof"]);
  });

  it("is not succeeded by a final checkpoint whose bytes are not what its marker says", async () => {
    const stage = await makeStage();
    stage.behave({ train: { waitAt: "end" } });
    const shop = await stage.shop();
    await begin(stage, shop);
    const weights = join(stage.project.state, "runs", RUN, "output/checkpoint-4/model.safetensors");
    await until(() => (stage.log("steps.log").length === 4 ? true : undefined));
    await until(() => {
      try {
        readFileSync(join(weights, "../_COMPLETE.json"));
        return true;
      } catch {
        return undefined;
      }
    });
    rmSync(weights);
    stage.go();
    expect(await followRun(shop, RUN)).toMatchObject({
      state: "failed",
      reason: expect.stringContaining("missing"),
    });
    expect(reasons(shop)).toEqual(["no_proof"]);
  });

  it.each([
    { code: 2, reason: "config_error" },
    { code: 1, reason: "crashed" },
    { code: 42, reason: "crashed" },
    { code: 75, reason: "fenced", state: "lost" },
  ])(
    "exit code $code with everything written is $reason, never success",
    async ({ code, reason, state = "failed" }) => {
      const stage = await makeStage();
      stage.behave({ train: { exit: code } });
      const shop = await stage.shop();
      expect(await ran(stage, shop)).toMatchObject({ state });
      expect(reasons(shop)).toEqual([reason]);
      await expect(followToSuccess(shop, RUN)).rejects.toMatchObject({ code: "RUN_FAILED" });
    },
  );

  it("repeats the payload's own words about a failure", async () => {
    const stage = await makeStage();
    stage.behave({
      train: { exitAt: 3, code: 2, failed: { code: "SHARD_BAD", message: "row 7 has no role" } },
    });
    const shop = await stage.shop();
    expect((await ran(stage, shop)).reason).toContain("row 7 has no role");
  });

  it("a killed payload goes on from its last complete checkpoint in a new attempt", async () => {
    const stage = await makeStage();
    stage.behave({ train: { killAt: "save-4" } });
    const shop = await stage.shop();
    expect(await ran(stage, shop)).toMatchObject({ state: "succeeded" });
    expect(reasons(shop)).toEqual(["killed", "succeeded"]);
    // Steps 3 and 4 again, 1 and 2 never; a complete checkpoint is not written a second time.
    expect(stage.log("steps.log")).toEqual(["1 1", "1 2", "1 3", "1 4", "2 3", "2 4"]);
    expect(stage.log("repeated.log")).toEqual([]);
    expect(stage.said).toContainEqual({ type: "note", text: "resumed from checkpoint-2" });
    expect(shop.store.series(RUN, "train/loss").map(({ step }) => step)).toEqual([1, 2, 3, 4]);
  });

  it("a job whose whole group was killed is found out without a result", async () => {
    const stage = await makeStage();
    stage.behave({ train: { waitAt: 3 } });
    const shop = await stage.shop();
    await begin(stage, shop);
    await running(shop);
    await until(() => (stage.log("steps.log").length === 2 ? true : undefined));
    process.kill(-supervisor(stage, 1).pgid, "SIGKILL");
    stage.go();
    expect(await followRun(shop, RUN)).toMatchObject({ state: "succeeded" });
    expect(reasons(shop)).toEqual(["node_lost", "succeeded"]);
  });

  it("gives up when a budget is spent, and a resume by hand begins it anew", async () => {
    const stage = await makeStage();
    stage.behave({ train: { killAt: 3, always: true } });
    const shop = await stage.shop();
    expect(await ran(stage, shop)).toMatchObject({ state: "failed" });
    expect(reasons(shop)).toEqual(Array.from({ length: BUDGETS.infra + 1 }, () => "killed"));
    await resumeRun(shop, RUN);
    expect(await followRun(shop, RUN)).toMatchObject({ state: "failed" });
    expect(reasons(shop)).toHaveLength(2 * (BUDGETS.infra + 1));
    stage.behave({});
    await resumeRun(shop, RUN);
    expect(await followRun(shop, RUN)).toMatchObject({ state: "succeeded" });
    expect(stage.log("steps.log").filter((line) => line.endsWith(" 1"))).toEqual(["1 1"]);
  });
});
