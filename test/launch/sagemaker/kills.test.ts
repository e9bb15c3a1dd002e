import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { attemptOf } from "../support.ts";
import { compile } from "../compile.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import { accepted, awsBench, ENVIRONMENT, type AwsBench } from "./support.ts";

awsSuite("a controller that is killed while it submits to SageMaker", (python) => {
  let bench: AwsBench;
  let script: string;
  beforeAll(async () => {
    bench = await awsBench(python);
    bench.service.runs = false;
    const output = compile(bench.folder, [
      "launch/index.ts",
      "launch/sagemaker/launcher.ts",
      "core/clock.ts",
    ]);
    script = join(bench.folder, "submitter.mjs");
    // Dies right before a call goes out, or right after its reply has come in. The product knows nothing of this.
    writeFileSync(
      script,
      `import { openLauncher } from ${JSON.stringify(join(output, "launch/index.js"))};
       import { systemClock } from ${JSON.stringify(join(output, "core/clock.js"))};
       import http from "node:http";
       const { profile, payload, job, attempt, fatal } = JSON.parse(process.argv[2]);
       const die = () => process.kill(process.pid, "SIGKILL");
       const { request } = http;
       let calls = 0;
       http.request = (...words) => {
         const [options] = words;
         const target = options.headers?.["x-amz-target"] ?? options.method + " " + options.path;
         const hit = new RegExp(fatal.target).test(target) && (calls += 1) === 1;
         if (hit && fatal.when === "before") die();
         const made = request(...words);
         if (hit && fatal.when === "after") made.on("response", die);
         return made;
       };
       const launcher = await openLauncher(profile, { clock: systemClock, environment: process.env, payload });
       const answer = await launcher.submit(launcher.plan(job, attempt));
       process.stdout.write(answer.outcome);`,
    );
  });
  afterAll(async () => bench.close());

  it.each([
    ["before", "^PUT .*payloads"],
    ["after", "^PUT .*payloads"],
    ["before", "job.template.json"],
    ["after", "job.template.json"],
    ["before", "^PUT .*fences"],
    ["after", "^PUT .*fences"],
    ["before", "CreateTrainingJob"],
    ["after", "CreateTrainingJob"],
    ["after", "DescribeTrainingJob"],
  ])("with kill -9 %s %s: one job, adopted", async (when, target) => {
    const plain = bench.job([]);
    // A payload that nobody has sent before.
    const inputs = plain.inputs.map((input) => ({
      ...input,
      path: input.path.replace("/p1/", `/${plain.runId}/`),
    }));
    const job = { ...plain, inputs };
    const attempt = attemptOf(job);
    const argument = {
      profile: bench.profile,
      payload: bench.payload,
      job,
      attempt,
      fatal: { when, target },
    };
    const killed = spawn(process.execPath, [script, JSON.stringify(argument)], {
      env: { ...process.env, ...ENVIRONMENT },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const signal = await new Promise((done) => killed.once("exit", (_, name) => done(name)));
    expect(signal).toBe("SIGKILL");
    // What comes after it looks first, and sends the same plan only when there is nobody.
    const next = await bench.another();
    const plan = next.plan(job, attempt);
    const found = await next.find(plan);
    const exists = target === "DescribeTrainingJob" || (when === "after" && target === "CreateTrainingJob");
    expect(found.outcome).toBe(exists ? "found" : "none");
    const ref = found.outcome === "found" ? found.refs[0] : await accepted(next, plan);
    expect(ref).toMatchObject({ job: attempt.marker });
    expect(bench.service.jobs().filter((name) => name === attempt.marker)).toHaveLength(1);
    await next.close();
  });
});
