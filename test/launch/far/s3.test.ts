import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sha256 } from "../../../src/core/hash.ts";
import { checkFar, farProblems } from "../../../src/launch/far/index.ts";
import { awsSuite, startMoto } from "../../real/aws/moto.ts";
import {
  ACCOUNT,
  arrived,
  fillBucket,
  makeSite,
  MODEL,
  SECRET,
  SHARD,
  type Server,
  type Site,
} from "./s3-support.ts";
import { farJob, here, sshProfile, slurmProfile, world } from "./support.ts";

type SiteRequest = Parameters<typeof makeSite> extends [Server, ...infer Rest] ? Rest : never;

awsSuite("inputs that the node fetches from S3", (python) => {
  let moto: Awaited<ReturnType<typeof startMoto>>;
  beforeAll(async () => {
    moto = await startMoto(python);
    await fillBucket({ python, url: moto.url });
  }, 600_000);
  afterAll(async () => moto.close());
  const site = (...request: SiteRequest): Site => makeSite({ python, url: moto.url }, ...request);

  it.each(["boto3", "aws"] as const)(
    "arrive under their digests with %s, once, and the job sees nothing of the account",
    { timeout: 120_000 },
    async (tool) => {
      const node = site(tool);
      expect(await node.checks()).toMatchObject([
        {
          outcome: "ok",
          detail: expect.stringMatching(
            new RegExp(`^${tool} .* reads s3://bucket/data/.*\\(3000000 bytes\\)$`),
          ),
        },
        { outcome: "ok", detail: expect.stringContaining("config.json (2 bytes)") },
      ]);
      const { code, out } = await node.fetch();
      expect(code, out).toBe(0);
      expect(out).toContain("job runs, AWS: 0\n");
      expect(out).not.toContain(SECRET);
      arrived(node);
      const times = statSync(node.shard).mtimeMs;
      const again = await node.fetch();
      expect(again.code).toBe(0);
      expect(again.out).not.toContain("fetching");
      expect(statSync(node.shard).mtimeMs).toBe(times);
    },
  );

  it(
    "are found by the name of the revision where the files are not known here",
    { timeout: 60_000 },
    async () => {
      const node = site("boto3", { listed: false });
      expect((await node.checks()).at(-1)).toMatchObject({
        outcome: "ok",
        detail: expect.stringContaining(`/models/${MODEL}/`),
      });
      const { code, out } = await node.fetch();
      expect(code, out).toBe(0);
      arrived(node);
    },
  );

  it(
    "go on where a killed download stopped, and survive kill -9 at any moment",
    { timeout: 120_000 },
    async () => {
      const node = site();
      mkdirSync(dirname(node.shard), { recursive: true });
      writeFileSync(`${node.shard}.part`, SHARD.subarray(0, 1_000_000));
      const before = statSync(`${node.shard}.part`).ino;
      for (const delay of [200, 500, 800, 1100]) {
        const child = node.start();
        const closed = once(child, "close");
        await new Promise((resolve) => setTimeout(resolve, delay));
        child.kill("SIGKILL");
        await closed;
        if (existsSync(node.shard)) expect(sha256(readFileSync(node.shard))).toBe(sha256(SHARD));
      }
      expect((await node.fetch()).code).toBe(0);
      arrived(node);
      expect(statSync(node.shard).ino).toBe(before);
    },
  );

  it(
    "are thrown away when they are not what the lock says, and never get their name",
    { timeout: 60_000 },
    async () => {
      const node = site("boto3", { changes: { sha256: "0".repeat(64) } });
      const { code, out } = await node.fetch();
      expect(code, out).toBe(2);
      expect(existsSync(node.shard)).toBe(false);
      expect(existsSync(`${node.shard}.part`)).toBe(false);
      expect(JSON.parse(node.events())).toMatchObject({ type: "failed", code: "S3_MISMATCH", attempt: 1 });
    },
  );

  it(
    "that are not there, or not ours, are told before the start and in the job",
    { timeout: 60_000 },
    async () => {
      const gone = site("boto3", { changes: { from: "s3://bucket/data/none.parquet" } });
      expect((await gone.checks())[0]).toMatchObject({
        outcome: "failed",
        detail: expect.stringContaining("none.parquet"),
      });
      expect((await gone.fetch()).code).toBe(2);
      expect(JSON.parse(gone.events())).toMatchObject({ code: "S3_MISSING" });
      const nobody = site();
      const { code, out } = await nobody.fetch({
        AWS_ACCESS_KEY_ID: "",
        AWS_SECRET_ACCESS_KEY: "",
        AWS_EC2_METADATA_DISABLED: "true",
        HOME: nobody.at,
      });
      expect(code, out).toBe(2);
      expect(JSON.parse(nobody.events())).toMatchObject({
        code: "S3_DENIED",
        hint: expect.stringContaining("credentials"),
      });
      const bare = site("none");
      expect(await bare.checks()).toMatchObject([
        { outcome: "failed", detail: expect.stringContaining("neither boto3") },
      ]);
      expect((await bare.fetch()).code).toBe(2);
      expect(JSON.parse(bare.events())).toMatchObject({ code: "S3_TOOL_MISSING" });
    },
  );

  it("may come another time when nobody answers", { timeout: 60_000 }, async () => {
    const node = site();
    const { s3 } = node.profile;
    const profile = { ...node.profile, s3: { ...s3, endpoint: "http://127.0.0.1:9" } };
    const checks = await checkFar(here({ ...ACCOUNT }), node.job, profile, world);
    expect(checks.find(({ name }) => name === "s3")).toMatchObject({ outcome: "failed" });
  });
});

it("need an address in the profile, which is one of S3 and has no password", () => {
  const codes = (changes: Readonly<Record<string, unknown>>): readonly string[] =>
    farProblems(farJob(), sshProfile(changes)).map(({ code }) => code);
  expect(codes({ stage: { model: "upload", data: "s3" } })).toEqual(["STAGE_S3"]);
  expect(codes({ stage: { model: "upload", data: "s3" }, s3: { models: "s3://b/m" } })).toEqual(["STAGE_S3"]);
  expect(codes({ stage: { model: "upload", data: "s3" }, s3: { data: "s3://b/d" } })).toEqual([]);
  for (const data of ["bucket/data", "s3://", "s3://b/d/", "https://b/d"]) {
    expect(() => sshProfile({ s3: { data } }), data).toThrow(/s3:\/\/bucket\/folder/);
  }
  expect(() => sshProfile({ s3: { endpoint: "https://user:word@store" } })).toThrow(/without a password/);
  expect(slurmProfile({ s3: { data: "s3://b" } }).s3?.data).toBe("s3://b");
});
