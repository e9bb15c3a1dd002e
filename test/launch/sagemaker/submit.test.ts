import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sha256 } from "../../../src/core/hash.ts";
import { planText, type JobInput } from "../../../src/launch/index.ts";
import { attemptOf } from "../support.ts";
import { CREDENTIALS } from "../../real/aws/bucket-sync.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import { accepted, awsBench, type AwsBench } from "./support.ts";

const CREATE = /CreateTrainingJob$/;

awsSuite("submitting to SageMaker", (python) => {
  let bench: AwsBench;
  beforeAll(async () => {
    bench = await awsBench(python);
    bench.service.runs = false;
  });
  afterAll(async () => bench.close());

  const planned = (
    number = 1,
  ): { readonly plan: ReturnType<AwsBench["launcher"]["plan"]>; readonly marker: string } => {
    const job = bench.job([]);
    const attempt = attemptOf(job, number);
    return { plan: bench.launcher.plan(job, attempt), marker: attempt.marker };
  };
  const made = (marker: string): number => bench.service.jobs().filter((name) => name === marker).length;

  it("adopts its own job when the same plan is sent again, from anywhere", async () => {
    const { plan, marker } = planned();
    const ref = await accepted(bench.launcher, plan);
    const other = await bench.another();
    expect(await Promise.all([other.submit(plan), other.submit(plan)])).toEqual([
      { outcome: "accepted", refs: [ref] },
      { outcome: "accepted", refs: [ref] },
    ]);
    expect(made(marker)).toBe(1);
    await other.close();
  });

  it.each(["drop-before", "drop-after", "server-error", "throttle"] as const)(
    "one job after a create that met %s",
    async (how) => {
      const { plan, marker } = planned();
      bench.service.proxy.fail({ target: CREATE, times: 1, how });
      expect(await accepted(bench.launcher, plan)).toMatchObject({ job: marker });
      expect(made(marker)).toBe(1);
    },
  );

  it("says ambiguous when no answer can be had, and finds the one job afterwards", async () => {
    const { plan, marker } = planned();
    bench.service.proxy.fail({ target: CREATE, times: 1, how: "drop-after" });
    bench.service.proxy.fail({ target: CREATE, times: 3, how: "drop-before" });
    expect((await bench.launcher.submit(plan)).outcome).toBe("ambiguous");
    expect(await bench.launcher.find(plan)).toMatchObject({
      outcome: "found",
      refs: [{ job: marker, marker }],
    });
    expect(made(marker)).toBe(1);
  });

  it("says ambiguous when nothing arrived either, and then that there is none", async () => {
    const { plan } = planned();
    bench.service.proxy.fail({ target: CREATE, times: 4, how: "drop-before" });
    expect((await bench.launcher.submit(plan)).outcome).toBe("ambiguous");
    expect(await bench.launcher.find(plan)).toEqual({ outcome: "none" });
  });

  it("cannot tell whether there is one while the service does not answer", async () => {
    const { plan } = planned();
    bench.service.proxy.fail({ target: /DescribeTrainingJob$/, times: 1, how: "server-error" });
    expect((await bench.launcher.find(plan)).outcome).toBe("unavailable");
  });

  it("is certain that nothing was started when nobody can be reached", async () => {
    const { plan } = planned();
    const nowhere = await bench.another({ endpoint: "http://127.0.0.1:9" });
    expect(await nowhere.submit(plan)).toMatchObject({ outcome: "rejected", retry: "unreachable" });
    await nowhere.close();
  });

  it("refuses a name that was made from another plan", async () => {
    const { plan } = planned();
    await accepted(bench.launcher, plan);
    const tags = [{ Key: "understudy:specHash", Value: "another" }];
    const other = { ...plan, request: { ...plan.request, Tags: tags } };
    expect(await bench.launcher.submit(other)).toMatchObject({
      outcome: "rejected",
      reason: expect.stringContaining("another plan"),
    });
    expect((await bench.launcher.find(other)).outcome).toBe("unavailable");
  });

  it.each([
    [
      "The account-level service limit 'ml.p5.48xlarge for training job usage' is 4 Instances, with current utilization of 4 Instances and a request delta of 1 Instances.",
      { retry: "no_capacity" },
    ],
    [
      "The account-level service limit 'ml.p5.48xlarge for training job usage' is 0 Instances, with current utilization of 0 Instances and a request delta of 1 Instances.",
      { hint: expect.stringContaining("Service Quotas") },
    ],
  ])("%s", async (message, expected) => {
    const { plan, marker } = planned();
    bench.service.proxy.fail({
      target: CREATE,
      times: 1,
      how: { status: 400, type: "ResourceLimitExceeded", message },
    });
    const answer = await bench.launcher.submit(plan);
    expect(answer).toMatchObject({
      outcome: "rejected",
      reason: expect.stringContaining("ml.p5"),
      ...expected,
    });
    expect("retry" in answer).toBe("retry" in expected);
    expect(made(marker)).toBe(0);
    // With no job at the provider, asking for it is no error.
    expect(await bench.launcher.find(plan)).toEqual({ outcome: "none" });
  });

  it("is refused for good when the role may not be taken on", async () => {
    const { plan } = planned();
    const how = { status: 400, type: "ValidationException", message: "Could not assume role arn:x" };
    bench.service.proxy.fail({ target: CREATE, times: 1, how });
    const answer = await bench.launcher.submit(plan);
    expect(answer).toMatchObject({
      outcome: "rejected",
      hint: expect.stringContaining("sagemaker.amazonaws.com"),
    });
    expect(answer).not.toHaveProperty("retry");
  });

  it("sends only what is missing, and verifies it", async () => {
    const folder = join(bench.folder, "data");
    mkdirSync(folder, { recursive: true });
    const big = Buffer.alloc(40 * 1024 * 1024, "part of a shard ");
    writeFileSync(join(folder, "big.parquet"), big);
    writeFileSync(join(folder, "small.parquet"), "small");
    const input = (name: string, bytes: Buffer): JobInput => ({
      role: "data",
      path: `understudy/data/d1/${name}`,
      source: join(folder, name),
      bytes: bytes.length,
      sha256: sha256(bytes),
    });
    const inputs = [input("big.parquet", big), input("small.parquet", Buffer.from("small"))];
    const job = bench.job([]);
    const plan = bench.launcher.plan({ ...job, inputs: [...job.inputs, ...inputs] }, attemptOf(job));
    await accepted(bench.launcher, plan);
    const puts = (): number =>
      bench.service.proxy.seen.filter(({ target }) => /^PUT .*\/data\/d1\//.test(target)).length;
    const before = puts();
    // Two parts and one whole.
    expect(before).toBeGreaterThanOrEqual(3);
    const again = bench.job([]);
    await accepted(
      bench.launcher,
      bench.launcher.plan({ ...again, inputs: [...again.inputs, ...inputs] }, attemptOf(again)),
    );
    expect(puts()).toBe(before);
  });

  it("refuses an input that has changed, is gone, or was never here, by name", async () => {
    const folder = join(bench.folder, "changed");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "a"), "other");
    writeFileSync(join(folder, "b"), Buffer.alloc(33 * 1024 * 1024));
    const wrong = (path: string, source: string | null, bytes: number): JobInput => ({
      role: "data",
      path: `understudy/data/d2/${path}`,
      source,
      bytes,
      sha256: "1".repeat(64),
    });
    const inputs = [
      wrong("a", join(folder, "a"), 5),
      wrong("b", join(folder, "b"), 33 * 1024 * 1024),
      wrong("c", join(folder, "c"), 5),
      wrong("d", null, 5),
    ];
    const job = bench.job([]);
    const answer = await bench.launcher.submit(
      bench.launcher.plan({ ...job, inputs: [...job.inputs, ...inputs] }, attemptOf(job)),
    );
    expect(answer.outcome).toBe("rejected");
    const reason = answer.outcome === "rejected" ? answer.reason : "";
    for (const name of ["a", "b", "c", "d"]) expect(reason).toContain(`/${name}`);
    expect(await bench.service.bucket.list("us-bucket", "understudy/data/d2/")).toEqual([]);
    expect(made(attemptOf(job).marker)).toBe(0);
  });

  it("refuses another plan for the same attempt before there is a job", async () => {
    const job = bench.job([]);
    const plan = bench.launcher.plan(job, attemptOf(job));
    bench.service.proxy.fail({ target: CREATE, times: 4, how: "drop-before" });
    await bench.launcher.submit(plan);
    const other = bench.launcher.plan({ ...job, diskBytes: 2 }, attemptOf(job));
    expect(await bench.launcher.submit(other)).toMatchObject({
      outcome: "rejected",
      reason: expect.stringContaining("another plan"),
    });
  });

  it("has no secret in anything that is printed or sent", async () => {
    const job = bench.job([], { secrets: ["TEST_SECRET"] });
    const value = "planted-secret-value-7391";
    const arn = await bench.service.secret("planted", value);
    const launcher = await bench.another({ secrets: { TEST_SECRET: arn } });
    const plan = launcher.plan(job, attemptOf(job));
    await accepted(launcher, plan);
    const everything = [
      planText(plan),
      JSON.stringify(plan),
      ...bench.service.proxy.seen.map(({ text }) => text),
    ].join("\n");
    expect(everything).toContain(arn);
    expect(everything).not.toContain(value);
    expect(everything).not.toContain(CREDENTIALS.secretAccessKey);
    await launcher.close();
  });
});
