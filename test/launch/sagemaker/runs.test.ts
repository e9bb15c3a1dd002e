import { expect, it } from "vitest";
import { systemClock, type Clock } from "../../../src/core/clock.ts";
import { TERMINAL_STATES, type Run } from "../../../src/track/index.ts";
import { advanceRun } from "../../../src/workflow/index.ts";
import { launcherPool } from "../../../src/workflow/launchers-pool.ts";
import type { Shop } from "../../../src/workflow/shop.ts";
import { packOnce } from "../../workflow/data-stage.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import { makeAwsStage, START, type AwsStage } from "../../real/aws/stage.ts";

packOnce();

/** A shop whose time passes as fast as a test says. */
const shopOf = async ({
  stage,
  environment,
}: AwsStage): Promise<{ readonly shop: Shop; readonly pass: (milliseconds: number) => void }> => {
  let ahead = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead };
  const base = await stage.shop({ clock });
  const launchers = launcherPool({ clock, environment, onProgress: base.onProgress });
  return { shop: { ...base, environment, launchers }, pass: (milliseconds) => void (ahead += milliseconds) };
};

const started = async ({ done }: AwsStage): Promise<string> => {
  const { stdout } = await done(...START, "--on", "cloud", "--json");
  const { run }: { run: { id: string } } = JSON.parse(stdout);
  return run.id;
};

awsSuite("a run on SageMaker", (python) => {
  it.each([
    ["Stopped", "MaxRuntimeExceeded", undefined, "timed_out"],
    ["Stopped", "MaxWaitTimeExceeded", undefined, "waiting"],
    ["Stopped", "Stopped", undefined, "cancelled"],
    ["Stopped", "NobodyKnows", undefined, "lost"],
    ["Failed", "Failed", "CapacityError: Unable to provision requested ML compute capacity", "waiting"],
    ["Failed", "Failed", "AlgorithmError: CUDA out of memory", "failed"],
    ["Completed", "Completed", undefined, "lost"],
  ] as const)("%s, %s, %s without a result: %s", async (status, secondary, failure, expected) => {
    const aws = await makeAwsStage(python);
    aws.service.runs = false;
    const id = await started(aws);
    aws.service.say(`us-${id}-a1`, { status, secondary, ...(failure === undefined ? {} : { failure }) });
    const { shop, pass } = await shopOf(aws);
    let run: Run = shop.store.getRun(id);
    // Files may arrive late: what is not there counts as missing only after a time.
    for (let looks = 0; looks < 8; looks++) {
      pass(90_000);
      ({ run } = await advanceRun(shop, id));
      if (TERMINAL_STATES.includes(run.state) || run.state === "waiting") break;
    }
    expect([run.state, run.reason]).toEqual([expected, expect.any(String)]);
    expect(aws.service.jobs()).toEqual([`us-${id}-a1`]);
    if (run.state === "waiting") {
      pass(3_600_000);
      aws.service.runs = false;
      await advanceRun(shop, id);
      expect(aws.service.jobs()).toEqual([`us-${id}-a1`, `us-${id}-a2`]);
    }
    await shop.launchers.close();
  });

  it("that a quota of 0 refuses fails with advice, and can be looked at without a job", async () => {
    const aws = await makeAwsStage(python);
    const message =
      "The account-level service limit 'ml.p5.48xlarge for training job usage' is 0 Instances, with current utilization of 0 Instances and a request delta of 1 Instances.";
    const how = { status: 400, type: "ResourceLimitExceeded", message };
    aws.service.proxy.fail({ target: /CreateTrainingJob$/, times: 1, how });
    const { exitCode, stdout } = await aws.run(...START, "--on", "cloud", "--json");
    expect(exitCode).toBe(4);
    const { error }: { error: { code: string; message: string } } = JSON.parse(stdout);
    expect(error).toMatchObject({ code: "RUN_REJECTED", message: expect.stringContaining("is 0 Instances") });
    const [, id = ""] = /^Run (\S+) was not started/.exec(error.message) ?? [];
    const shown = await aws.done("run", "show", id);
    expect(shown.stdout).toContain("is 0 Instances");
    expect((await aws.done("run", "list")).stdout).toContain("failed");
    expect(aws.service.jobs()).toEqual([]);
  });

  it("goes on from its newest whole checkpoint under another name, and not from a torn one", async () => {
    const aws = await makeAwsStage(python);
    aws.stage.behave({ train: { killAt: "save-4" } });
    const { stdout } = await aws.done(...START, "--on", "cloud", "-f", "--json");
    const { run }: { run: { id: string; state: string } } = JSON.parse(stdout);
    expect(aws.service.jobs()).toEqual([`us-${run.id}-a1`, `us-${run.id}-a2`]);
    // Attempt and step: 1 to 4, and from behind checkpoint 2 again.
    expect(aws.stage.log("steps.log")).toEqual(["1 1", "1 2", "1 3", "1 4", "2 3", "2 4"]);
    const listed = await aws.done("checkpoint", "list", run.id, "--json");
    for (const step of [2, 4])
      expect(listed.stdout).toContain(`s3://us-bucket/understudy/runs/${run.id}/output/checkpoint-${step}`);
  });
});
