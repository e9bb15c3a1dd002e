import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sha256 } from "../../../src/core/hash.ts";
import type { Job, JobInput } from "../../../src/launch/index.ts";
import { dying, type Dying, type FatalCall } from "../../real/aws/dying.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import { attemptOf } from "../support.ts";
import { accepted, awsBench, ENVIRONMENT, type AwsBench } from "./support.ts";

// Every remote step of a submission, in its order. A step that nobody has thought of fails the first test.
const STEPS: readonly (readonly [string, FatalCall["when"][], number?])[] = [
  ["^GET .*list-type", ["before", "after"]],
  ["^GET .*supervisor\\.json", ["after"]],
  ["^HEAD .*/(payloads|data)/", ["after"]],
  ["^PUT .*/payloads/", ["before", "after"]],
  ["^POST .*/data/.*[?]uploads", ["before", "after"]],
  ["^PUT .*/data/.*partNumber", ["before", "after"]],
  ["^POST .*/data/.*uploadId", ["before", "after"]],
  ["^PUT .*job\\.template\\.json", ["before", "after"]],
  ["^PUT .*channel-data\\.json", ["before", "after"]],
  ["^GET .*list-type", ["after"], 2],
  ["^PUT .*/fences/", ["before", "after"]],
  ["CreateTrainingJob$", ["before", "after"]],
  ["DescribeTrainingJob$", ["before", "after"]],
];
const KILLS = STEPS.flatMap(([target, whens, call = 1]) =>
  whens.map((when): FatalCall => ({ when, target, call })),
);

const MADE = new Set([
  "after CreateTrainingJob$",
  "before DescribeTrainingJob$",
  "after DescribeTrainingJob$",
]);

awsSuite("a controller that is killed while it submits to SageMaker", (python) => {
  let bench: AwsBench;
  let submit: Dying;
  // Only what is large goes up in parts.
  const shards = { large: Buffer.alloc(33 * 1024 * 1024, "part of a shard "), small: Buffer.from("shard") };
  beforeAll(async () => {
    bench = await awsBench(python, { input: { from: "s3", mode: "File" } });
    bench.service.runs = false;
    mkdirSync(join(bench.folder, "data"));
    for (const [name, bytes] of Object.entries(shards))
      writeFileSync(join(bench.folder, "data", name), bytes);
    submit = dying(
      bench.folder,
      ["launch/index.ts", "launch/sagemaker/launcher.ts", "core/clock.ts"],
      (from) => `
       import { openLauncher } from ${from("launch/index.js")};
       import { systemClock } from ${from("core/clock.js")};
       const { profile, payload, job, attempt } = JSON.parse(process.argv[2]);
       const launcher = await openLauncher(profile, { clock: systemClock, environment: process.env, payload });
       const answer = await launcher.submit(launcher.plan(job, attempt));
       await launcher.close();
       process.stdout.write(answer.outcome);`,
    );
  });
  afterAll(async () => bench.close());

  // A payload and a shard that nobody has sent before.
  const fresh = (size: keyof typeof shards): Job => {
    const job = bench.job([]);
    const payload = job.inputs.map((input) => ({
      ...input,
      path: input.path.replace("/p1/", `/${job.runId}/`),
    }));
    const data: JobInput = {
      role: "data",
      path: `understudy/data/${job.runId}/shard.parquet`,
      source: join(bench.folder, "data", size),
      bytes: shards[size].length,
      sha256: sha256(shards[size]),
    };
    return { ...job, inputs: [...payload, data] };
  };
  const start = async (job: Job, fatal: FatalCall | null): ReturnType<Dying> => {
    const argument = { profile: bench.profile, payload: bench.payload, job, attempt: attemptOf(job) };
    const environment = { ...process.env, ...ENVIRONMENT };
    return submit([JSON.stringify(argument)], fatal, { cwd: bench.folder, environment });
  };

  it("knows every step that there is", async () => {
    const before = bench.service.proxy.seen.length;
    expect(await start(fresh("large"), null)).toMatchObject({ end: 0, stdout: "accepted" });
    const calls = bench.service.proxy.seen.slice(before).map(({ target }) => target);
    const known = STEPS.map(([target]) => new RegExp(target));
    expect(calls.filter((call) => !known.some((step) => step.test(call)))).toEqual([]);
    for (const step of known) expect(calls.some((call) => step.test(call))).toBe(true);
  });

  it.each(KILLS)("with kill -9 $when $target ($call): one job, adopted", async (fatal) => {
    const job = fresh(/uploads|partNumber|uploadId/.test(fatal.target) ? "large" : "small");
    const { marker } = attemptOf(job);
    expect(await start(job, fatal)).toMatchObject({ end: "SIGKILL" });
    // What comes after it looks first, and sends the same plan only when there is nobody.
    const next = await bench.another();
    const plan = next.plan(job, attemptOf(job));
    const found = await next.find(plan);
    expect(found.outcome).toBe(MADE.has(`${fatal.when} ${fatal.target}`) ? "found" : "none");
    const ref = found.outcome === "found" ? found.refs[0] : await accepted(next, plan);
    expect(ref).toMatchObject({ job: marker });
    expect(bench.service.jobs().filter((name) => name === marker)).toHaveLength(1);
    await next.close();
  });
});
