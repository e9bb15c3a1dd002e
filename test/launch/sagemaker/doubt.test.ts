import { AssumeRoleCommand, STSClient } from "@aws-sdk/client-sts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { jobKey, openLauncher, type Launcher, type Observation } from "../../../src/launch/index.ts";
import { CREDENTIALS, REGION } from "../../real/aws/bucket-sync.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import { attemptOf } from "../support.ts";
import { accepted, awsBench, type AwsBench } from "./support.ts";
import type { SageMakerRef } from "./watching.ts";

const CREATE = /CreateTrainingJob$/;
const denied = { status: 400, type: "AccessDeniedException", message: "not authorized to create" };
const invalid = { status: 400, type: "ValidationException", message: "Could not assume role arn:x" };
const limit = {
  status: 400,
  type: "ResourceLimitExceeded",
  message:
    "The account-level service limit 'ml.p5.48xlarge for training job usage' is 0 Instances, with current utilization of 0 Instances and a request delta of 1 Instances.",
};
const full = { status: 400, type: "ValidationException", message: "CapacityError: Unable to provision" };

awsSuite("what cannot be told of a SageMaker job", (python) => {
  let bench: AwsBench;
  beforeAll(async () => {
    bench = await awsBench(python);
    bench.service.runs = false;
  });
  afterAll(async () => bench.close());

  const planned = (): ReturnType<Launcher["plan"]> => {
    const job = bench.job([]);
    return bench.launcher.plan(job, attemptOf(job));
  };
  const made = ({ attempt }: ReturnType<Launcher["plan"]>): number =>
    bench.service.jobs().filter((name) => name === attempt.marker).length;
  const look = async (launcher: Launcher, ref: SageMakerRef): Promise<Observation | undefined> =>
    (await launcher.observe([ref])).get(jobKey(ref));

  describe("once a create may have arrived", () => {
    it.each([
      ["drop-after", "AccessDenied", denied, "found"],
      ["drop-after", "a validation", invalid, "found"],
      ["drop-after", "a quota of 0", limit, "found"],
      ["drop-after", "no capacity", full, "found"],
      ["server-error", "AccessDenied", denied, "none"],
      ["drop-before", "a quota of 0", limit, "none"],
      ["gateway", "a validation", invalid, "none"],
    ] as const)("%s, then %s: ambiguous, until the job is looked for", async (first, _, second, outcome) => {
      const plan = planned();
      bench.service.proxy.fail({ target: CREATE, times: 1, how: first });
      bench.service.proxy.fail({ target: CREATE, times: 1, how: second });
      expect(await bench.launcher.submit(plan)).toMatchObject({
        outcome: "ambiguous",
        reason: expect.stringContaining("may have arrived"),
      });
      expect(made(plan)).toBe(outcome === "found" ? 1 : 0);
      expect((await bench.launcher.find(plan)).outcome).toBe(outcome);
    });

    it("a refusal of the first request is one", async () => {
      const plan = planned();
      bench.service.proxy.fail({ target: CREATE, times: 1, how: denied });
      expect((await bench.launcher.submit(plan)).outcome).toBe("rejected");
    });
  });

  describe("to whom cannot see it", () => {
    let stranger: Launcher;
    beforeAll(async () => {
      const client = new STSClient({ endpoint: bench.service.url, region: REGION, credentials: CREDENTIALS });
      const answer = await client.send(
        new AssumeRoleCommand({ RoleArn: "arn:aws:iam::999988887777:role/other", RoleSessionName: "other" }),
      );
      client.destroy();
      stranger = await openLauncher(bench.profile, {
        clock: systemClock,
        environment: {
          AWS_ACCESS_KEY_ID: answer.Credentials?.AccessKeyId,
          AWS_SECRET_ACCESS_KEY: answer.Credentials?.SecretAccessKey,
          AWS_SESSION_TOKEN: answer.Credentials?.SessionToken,
        },
        payload: bench.payload,
      });
    });
    afterAll(async () => stranger.close());

    const accounts = /of account 999988887777, the job is of account 123456789012/;

    it("another account's credentials prove nothing about a job, and stop none", async () => {
      const plan = planned();
      const ref = await accepted(bench.launcher, plan);
      const reason = expect.stringMatching(accounts);
      expect(await look(stranger, ref)).toMatchObject({ phase: "unavailable", detail: reason });
      await expect(stranger.cancel(ref, "now")).rejects.toMatchObject({
        code: "CANCEL_UNANSWERED",
        message: reason,
      });
      expect((await look(bench.launcher, ref))?.phase).toBe("live");
    });

    it("nor do they settle a lost reply", async () => {
      expect(await stranger.find(planned())).toMatchObject({
        outcome: "unavailable",
        reason: expect.stringMatching(accounts),
      });
    });

    it("nor does a profile of another region", async () => {
      const ref = await accepted(bench.launcher, planned());
      const gone = { ...ref, job: "us-never-a1", marker: "us-never-a1" };
      expect((await look(bench.launcher, gone))?.phase).toBe("absent");
      const elsewhere = await bench.another({ region: "eu-west-1" });
      expect(await look(elsewhere, gone)).toMatchObject({
        phase: "unavailable",
        detail: expect.stringContaining("the job is in us-east-1, and the profile asks in eu-west-1"),
      });
      await elsewhere.close();
    });

    it("nor does anybody, while it cannot be asked who they are", async () => {
      const plan = planned();
      bench.service.proxy.fail({ target: /^POST \/$/, times: 3, how: "server-error" });
      expect(await bench.launcher.find(plan)).toMatchObject({
        outcome: "unavailable",
        reason: expect.stringContaining("could not be asked"),
      });
      expect(await bench.launcher.find(plan)).toEqual({ outcome: "none" });
    });

    it("nor does a role that is of no account", async () => {
      const odd = await bench.another({ role: "arn:aws:iam::aws:policy/none" });
      expect((await odd.find(planned())).outcome).toBe("unavailable");
      await odd.close();
    });

    it("nor does a page of the network that stands in the service's place", async () => {
      const plan = planned();
      bench.service.proxy.fail({ target: /DescribeTrainingJob$/, times: 1, how: "gateway" });
      expect((await bench.launcher.find(plan)).outcome).toBe("unavailable");
    });
  });
});
