import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { attemptOf, until } from "../support.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import { touch } from "../../real/aws/service.ts";
import { accepted, awsBench, type AwsBench } from "./support.ts";
import { watching, type Watch } from "./watching.ts";

awsSuite("what goes on, stops and stays out on SageMaker", (python) => {
  let bench: AwsBench;
  let watch: Watch;
  beforeAll(async () => {
    bench = await awsBench(python, { spot: { maxWaitSeconds: 200_000 } });
    watch = await watching(bench);
  });
  afterEach(() => {
    bench.service.runs = true;
  });
  afterAll(async () => {
    await watch.launcher.close();
    await bench.close();
  });

  it("a spot restart is the next attempt, told once with everything to go on", async () => {
    const ref = await watch.submit([["say", "up"], ["wait-stop"], ["exit", 3]]);
    await bench.service.begun(ref.job);
    await bench.service.interrupt(ref.job);
    const first = await watch.ended(ref);
    expect(first).toMatchObject({ cause: "preempted", result: { exitCode: 3 } });
    const next = first.continues;
    const [second] = next?.refs ?? [];
    if (second?.kind !== "sagemaker" || next === undefined) throw new Error("it does not go on");
    expect(second).toEqual({
      ...ref,
      marker: ref.marker.replace(/-a1$/, "-a2"),
      folder: ref.folder.replace(/\/1$/, "/2"),
    });
    expect(next.token).toBe("token-1.2");
    expect(await watch.look(second)).toMatchObject({ phase: "live" });
    expect(await watch.launcher.cancel(second, "graceful")).toBe("requested");
    expect(await watch.ended(second)).toMatchObject({
      cause: "cancelled",
      result: { exitCode: 3, marker: second.marker },
    });
  });

  it("an instance that is gone without a word leaves no result, and the run goes on all the same", async () => {
    const job = bench.job([
      ["say", "up"],
      ["wait", "go"],
    ]);
    const plan = watch.launcher.plan(job, attemptOf(job));
    const ref = await accepted(watch.launcher, plan);
    await bench.service.begun(ref.job);
    await until(
      async () =>
        (await bench.service.bucket.list("us-bucket", `${ref.folder}/supervisor`)).length > 0 || undefined,
    );
    await bench.service.interrupt(ref.job, true);
    const first = await watch.ended(ref);
    expect(first).toMatchObject({ cause: "preempted", result: null, continues: { token: "token-1.2" } });
    const [second] = first.continues?.refs ?? [];
    if (second === undefined) throw new Error("it does not go on");
    // Attempt 2 is the restart's: it is found, and cannot be begun a second time.
    const later = watch.launcher.plan(job, attemptOf(job, 2));
    expect(await watch.launcher.find(later)).toEqual({ outcome: "found", refs: [second] });
    expect((await watch.launcher.submit(later)).outcome).toBe("ambiguous");
    await touch(bench.service, ref.job, "go");
    expect(await watch.ended(second)).toMatchObject({ cause: "completed", result: { exitCode: 0 } });
  });

  it("a stop before the program listens ends as cancelled, without a result", async () => {
    const ref = await watch.idle();
    expect(await watch.launcher.cancel(ref, "graceful")).toBe("requested");
    expect(await watch.look(ref)).toMatchObject({ phase: "live", state: "stopping" });
    bench.service.say(ref.job, { status: "Stopped", secondary: "Stopped" });
    expect(await watch.look(ref)).toMatchObject({ phase: "ended", cause: "cancelled", result: null });
    // Twice, and after the end.
    expect(await watch.launcher.cancel(ref, "now")).toBe("already-ended");
  });

  it("a stop that ran into the end leaves no word of a stop", async () => {
    const ref = await watch.idle();
    bench.service.proxy.fail({
      target: /StopTrainingJob$/,
      times: 1,
      how: { status: 400, type: "ValidationException", message: "The job is in status Completed." },
    });
    const slow = watch.launcher.cancel(ref, "now");
    expect(await slow).toBe("requested");
    bench.service.proxy.fail({
      target: /StopTrainingJob$/,
      times: 1,
      how: { status: 400, type: "AccessDeniedException", message: "no" },
    });
    await expect(watch.launcher.cancel(ref, "now")).rejects.toMatchObject({ code: "CANCEL_UNANSWERED" });
    await expect(watch.launcher.cancel({ ...ref, job: "us-never-a1" }, "now")).rejects.toMatchObject({
      code: "JOB_MISSING",
    });
  });

  it("says when checkpoints have stopped arriving while the log goes on", async () => {
    bench.service.runs = false;
    const job = bench.job([], {
      kind: "train",
      manifest: { kind: "train", training: { saveEverySteps: 100, globalBatch: 1, microBatch: 1 } },
    });
    const ref = await accepted(watch.launcher, watch.launcher.plan(job, attemptOf(job)));
    bench.service.say(ref.job, { status: "InProgress", secondary: "Training" });
    const run = `understudy/runs/${job.runId}`;
    const log = async (step: number): Promise<void> =>
      bench.service.bucket.put(
        "us-bucket",
        `${run}/events.jsonl`,
        [
          { type: "started" },
          { type: "step", step: step - 1, secondsPerStep: 30 },
          { type: "step", step, secondsPerStep: 30 },
        ]
          .map((event) => JSON.stringify(event))
          .join("\n") + '\n{"torn',
      );
    const save = async (step: number): Promise<void> =>
      bench.service.bucket.put("us-bucket", `${run}/output/checkpoint-${step}/_COMPLETE.json`, "{}");
    await save(100);
    await log(290);
    const well = await watch.look(ref);
    expect(well.detail).not.toContain("arriving");
    expect(well).not.toHaveProperty("warning");
    await log(310);
    const words =
      "checkpoints have stopped arriving: the log is at step 310, but the newest whole checkpoint, of step 100, is in the bucket";
    expect(await watch.look(ref)).toMatchObject({
      detail: expect.stringContaining(words),
      warning: expect.stringContaining(words),
    });
    await save(300);
    // A folder that has begun to arrive is no checkpoint.
    await bench.service.bucket.put("us-bucket", `${run}/output/checkpoint-400/weights`, "x");
    expect((await watch.look(ref)).detail).not.toContain("arriving");
    // Two intervals of 100 steps at 30 seconds, and what had passed before.
    watch.pass(6_200_000);
    expect((await watch.look(ref)).detail).toMatch(
      /nothing has arrived in the bucket for \d+ minutes.*step 310/,
    );
  });
});
