import { afterAll, beforeAll, expect, it } from "vitest";
import type { Check, JobInput } from "../../../src/launch/index.ts";
import { openLauncher } from "../../../src/launch/index.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import { awsBench, type AwsBench } from "./support.ts";

awsSuite("what can be asked before a start on SageMaker", (python) => {
  let bench: AwsBench;
  beforeAll(async () => {
    bench = await awsBench(python);
  });
  afterAll(async () => bench.close());
  const probe = async (
    settings: Readonly<Record<string, unknown>> = {},
  ): Promise<ReadonlyMap<string, Check>> => {
    const launcher = await bench.another(settings);
    const checks = await launcher.probe();
    await launcher.close();
    return new Map(checks.map((check) => [check.name, check]));
  };

  it("says who asks, and proves the bucket by an object that is gone again", async () => {
    const checks = await probe();
    const failed = [...checks.values()].filter(({ outcome }) => outcome === "failed");
    expect(failed).toEqual([]);
    expect(checks.get("credentials")?.detail).toContain("123456789012");
    expect(checks.get("bucket")?.detail).toContain("written, read, deleted");
    expect(checks.get("quota")).toMatchObject({
      outcome: "unknown",
      detail: expect.stringContaining("ml.m5.large"),
    });
    expect(await bench.service.bucket.list("us-bucket", "understudy/tmp/")).toEqual([]);
  });

  it.each([
    ["role", { role: "arn:aws:iam::999999999999:role/other" }],
    ["role", { role: "arn:aws:iam::123456789012:user/person" }],
    ["region", { bucket: "no-such-bucket-here" }],
    ["image", { image: "123456789012.dkr.ecr.us-east-1.amazonaws.com/understudy:latest" }],
  ])("a wrong %s is told, with what to do", async (name, settings) => {
    expect((await probe(settings)).get(name)).toMatchObject({ outcome: "failed", hint: expect.any(String) });
  });

  it("says in a sentence that there is no such bucket, once", async () => {
    const checks = await probe({ bucket: "no-such-bucket-here" });
    expect(checks.get("region")).toMatchObject({
      detail: expect.stringContaining("there is no bucket no-such-bucket-here: it does not exist"),
      hint: expect.stringContaining("bucket: in the profile"),
    });
    expect(checks.get("bucket")).toMatchObject({ outcome: "unknown" });
  });

  it.each([
    [301, "is in another region than us-east-1"],
    [403, "these credentials may not see it"],
  ])("says what %i to the head of a bucket means", async (status, said) => {
    const how = { status, type: "", message: "" };
    bench.service.proxy.fail({ target: /^HEAD \/us-bucket\/?$/, times: 1, how });
    expect((await probe()).get("region")).toMatchObject({
      outcome: "failed",
      detail: expect.stringContaining(said),
    });
  });

  it("a bucket that may be written but not read is no good", async () => {
    const how = { status: 403, type: "AccessDenied", message: "Access Denied" };
    bench.service.proxy.fail({ target: /^GET .*\/tmp\/probe/, times: 1, how });
    expect((await probe()).get("bucket")).toMatchObject({
      outcome: "failed",
      detail: expect.stringContaining("only written"),
    });
  });

  it("without credentials nothing else is asked", async () => {
    bench.service.proxy.fail({
      target: /^POST \/$/,
      times: 1,
      how: { status: 403, type: "InvalidClientTokenId", message: "The security token is invalid" },
    });
    const checks = await probe();
    expect([...checks.keys()]).toEqual(["credentials"]);
    expect(checks.get("credentials")).toMatchObject({
      outcome: "failed",
      hint: expect.stringContaining("AWS_PROFILE"),
    });
  });

  it("of a job: inputs that must lie there, and room for what it writes", async () => {
    const launcher = await openLauncher(bench.profile, {
      clock: systemClock,
      environment: { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "bbbbbbbb" },
      payload: bench.payload,
    });
    const missing: JobInput = {
      role: "model",
      path: "understudy/models/m/config.json",
      source: null,
      bytes: 3,
      sha256: "0".repeat(64),
    };
    const job = bench.job([], { diskBytes: 2e9 });
    const checks = await launcher.preflight({ ...job, inputs: [...job.inputs, missing] });
    expect(checks.find(({ name }) => name === "inputs")).toMatchObject({
      outcome: "failed",
      detail: expect.stringContaining("understudy/models/m/config.json"),
    });
    expect(checks.find(({ name }) => name === "volume")).toMatchObject({
      outcome: "failed",
      detail: expect.stringContaining("2000000000 bytes"),
    });
    await launcher.close();
  });
});
