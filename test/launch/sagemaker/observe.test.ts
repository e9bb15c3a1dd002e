import { afterAll, afterEach, beforeAll, expect, it } from "vitest";

import { awsSuite } from "../../real/aws/moto.ts";
import { awsBench, type AwsBench } from "./support.ts";
import { watching, type SageMakerRef, type Watch } from "./watching.ts";

awsSuite("watching SageMaker", (python) => {
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

  const asked = (target: string): number =>
    bench.service.proxy.seen.filter((call) => call.target === `SageMaker.${target}`).length;

  it("tells the causes of a stop apart, and none of them is success", async () => {
    const ref = await watch.idle();
    const say = (status: string, secondary: string, failure?: string): void =>
      bench.service.say(ref.job, { status, secondary, ...(failure === undefined ? {} : { failure }) });
    say("Stopped", "Stopped");
    expect(await watch.look(ref)).toMatchObject({
      phase: "ended",
      cause: "cancelled_by_other",
      result: null,
    });
    for (const [secondary, cause] of [
      ["MaxRuntimeExceeded", "walltime"],
      ["MaxWaitTimeExceeded", "no_capacity"],
      ["NobodyKnows", "unknown"],
    ] as const) {
      const other = await watch.idle();
      bench.service.say(other.job, { status: "Stopped", secondary });
      expect(await watch.look(other)).toMatchObject({
        phase: "ended",
        cause,
        detail: expect.stringContaining(secondary),
      });
    }
  });

  it.each([
    ["CapacityError: Unable to provision requested ML compute capacity", "no_capacity"],
    ["InternalServerError: We encountered an internal error", "node_fail"],
    ["ClientError: Failed to download data", "not_started"],
    ["A text of next year", "failed"],
  ])("a failure for %s", async (failure, cause) => {
    const ref = await watch.idle();
    bench.service.say(ref.job, { status: "Failed", secondary: "Failed", failure });
    expect(await watch.look(ref)).toMatchObject({
      phase: "ended",
      cause,
      result: null,
      detail: expect.stringContaining(failure),
    });
  });

  it("calls a completed job without a result what it is: no proof of success", async () => {
    const ref = await watch.idle();
    bench.service.say(ref.job, { status: "Completed", secondary: "Completed" });
    expect(await watch.look(ref)).toMatchObject({ phase: "ended", cause: "completed", result: null });
  });

  it("keeps an unknown word, and a job that is interrupted, live", async () => {
    const ref = await watch.idle();
    bench.service.say(ref.job, {
      status: "InProgress",
      secondary: "Interrupted",
      message: "no spot capacity",
    });
    expect(await watch.look(ref)).toMatchObject({
      phase: "live",
      state: "queued",
      detail: expect.stringContaining("no spot capacity"),
    });
    bench.service.say(ref.job, { status: "InProgress", secondary: "Hovering" });
    const seen = await watch.look(ref);
    expect(seen).toMatchObject({ phase: "live", detail: expect.stringContaining("Hovering") });
    expect(seen).not.toHaveProperty("state");
  });

  it("a throttled description changes nothing, and heals", async () => {
    const ref = await watch.idle();
    bench.service.proxy.fail({ target: /DescribeTrainingJob$/, times: 6, how: "throttle" });
    expect(await watch.look(ref)).toMatchObject({
      phase: "unavailable",
      detail: expect.stringContaining("Throttling"),
    });
    expect(await watch.look(ref)).toMatchObject({ phase: "live" });
  });

  it.each(["server-error", "drop-before", "drop-after"] as const)(
    "%s on a description proves nothing",
    async (how) => {
      const ref = await watch.idle();
      bench.service.proxy.fail({ target: /DescribeTrainingJob$/, times: 1, how });
      expect((await watch.look(ref)).phase).toBe("unavailable");
    },
  );

  it("says absent only when the service has answered that there is none", async () => {
    const ref = await watch.idle();
    expect(await watch.look({ ...ref, job: "us-never-a1", marker: "us-never-a1" })).toMatchObject({
      phase: "absent",
    });
  });

  it("knows nothing while the login has expired, and says what to do", async () => {
    const ref = await watch.idle();
    const how = { status: 400, type: "ExpiredTokenException", message: "expired" };
    bench.service.proxy.fail({ target: /DescribeTrainingJob$/, times: 1, how });
    expect(await watch.look(ref)).toMatchObject({
      phase: "unavailable",
      detail: expect.stringContaining("aws sso login"),
    });
    expect((await watch.look(ref)).phase).toBe("live");
  });

  it("a bucket that does not answer leaves the end untold", async () => {
    const ref = await watch.idle();
    bench.service.say(ref.job, { status: "Failed", secondary: "Failed", failure: "AlgorithmError: x" });
    bench.service.proxy.fail({ target: /^GET .*supervisor\.json/, times: 9, how: "server-error" });
    expect((await watch.look(ref)).phase).toBe("unavailable");
  });

  it("asks with one list for many, once in the poll time, and describes only what has ended", async () => {
    bench.service.runs = false;
    const refs: SageMakerRef[] = [];
    for (let count = 0; count < 5; count++) refs.push(await watch.submit());
    for (const ref of refs) bench.service.say(ref.job, { status: "InProgress", secondary: "Training" });
    const [first] = refs;
    if (first === undefined) throw new Error("none");
    bench.service.say(first.job, {
      status: "Failed",
      secondary: "Failed",
      failure: "AlgorithmError: exit code: 1",
    });
    const fresh = await bench.another({ pollSeconds: 600 }, watch.clock);
    const [lists, descriptions] = [asked("ListTrainingJobs"), asked("DescribeTrainingJob")];
    const seen = await fresh.observe(refs);
    expect([...seen.values()].map(({ phase }) => phase)).toEqual(["ended", "live", "live", "live", "live"]);
    await fresh.observe(refs);
    await fresh.observe(refs);
    expect(asked("ListTrainingJobs") - lists).toBe(1);
    expect(asked("DescribeTrainingJob") - descriptions).toBe(1);
    await fresh.close();
  });

  it("a failed list makes all of its jobs unavailable, never absent", async () => {
    bench.service.runs = false;
    const refs = [await watch.submit(), await watch.submit(), await watch.submit()];
    bench.service.proxy.fail({ target: /ListTrainingJobs$/, times: 1, how: "drop-after" });
    watch.pass(5000);
    const seen = await watch.launcher.observe(refs);
    expect([...seen.values()].map(({ phase }) => phase)).toEqual([
      "unavailable",
      "unavailable",
      "unavailable",
    ]);
  });
});
