import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { openLauncher } from "../../../src/launch/index.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import { attemptOf } from "../support.ts";
import { accepted, awsBench, ENVIRONMENT, type AwsBench } from "./support.ts";

const CREATE = /CreateTrainingJob$/;

awsSuite("a SageMaker submission that cannot go on now", (python) => {
  let bench: AwsBench;
  beforeAll(async () => {
    bench = await awsBench(python);
    bench.service.runs = false;
  });
  afterAll(async () => bench.close());

  const planned = (): {
    readonly plan: ReturnType<AwsBench["launcher"]["plan"]>;
    readonly marker: string;
  } => {
    const job = bench.job([]);
    const attempt = attemptOf(job, 1);
    return { plan: bench.launcher.plan(job, attempt), marker: attempt.marker };
  };
  const made = (marker: string): number => bench.service.jobs().filter((name) => name === marker).length;

  it.each(["ExpiredTokenException", "UnrecognizedClientException", "RequestExpired"])(
    "waits for a new login after %s, with nothing started, and goes on with it",
    async (type) => {
      const { plan, marker } = planned();
      const how = { status: 400, type, message: "The security token included in the request is expired" };
      bench.service.proxy.fail({ target: CREATE, times: 1, how });
      expect(await bench.launcher.submit(plan)).toMatchObject({
        outcome: "rejected",
        retry: "unreachable",
        reason: expect.stringContaining(type),
        hint: expect.stringContaining("aws sso login"),
      });
      expect(made(marker)).toBe(0);
      expect(await accepted(bench.launcher, plan)).toMatchObject({ job: marker });
    },
  );

  it("does not forget that a create may have arrived when the login expires", async () => {
    const { plan } = planned();
    const how = { status: 400, type: "ExpiredTokenException", message: "expired" };
    bench.service.proxy.fail({ target: CREATE, times: 1, how: "drop-after" });
    bench.service.proxy.fail({ target: CREATE, times: 1, how });
    expect((await bench.launcher.submit(plan)).outcome).toBe("ambiguous");
    expect(await bench.launcher.find(plan)).toMatchObject({ outcome: "found" });
  });

  it("stops between two files when it is told to, and starts nothing", async () => {
    const stop = new AbortController();
    const reason = new Error("Ctrl-C");
    const job = bench.job([]);
    const launcher = await openLauncher(bench.profile, {
      clock: systemClock,
      environment: ENVIRONMENT,
      payload: bench.payload,
      signal: stop.signal,
    });
    const plan = launcher.plan(job, attemptOf(job));
    stop.abort(reason);
    await expect(launcher.submit(plan)).rejects.toBe(reason);
    expect(made(plan.attempt.marker)).toBe(0);
    expect(await accepted(bench.launcher, plan)).toMatchObject({ job: plan.attempt.marker });
    await launcher.close();
  });
});
