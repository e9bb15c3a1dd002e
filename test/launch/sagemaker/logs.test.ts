import {
  CloudWatchLogsClient,
  CreateLogGroupCommand,
  CreateLogStreamCommand,
  PutLogEventsCommand,
} from "@aws-sdk/client-cloudwatch-logs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock, type Clock } from "../../../src/core/clock.ts";
import { type JobRef, type Launcher, type LogCursor } from "../../../src/launch/index.ts";
import { readLogs } from "../../../src/launch/sagemaker/logs.ts";
import { openBucket } from "../../../src/launch/sagemaker/bucket.ts";
import { openAws } from "../../../src/launch/sagemaker/aws.ts";
import { attemptOf } from "../support.ts";
import { CREDENTIALS, REGION } from "../../real/aws/bucket-sync.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import { accepted, awsBench, ENVIRONMENT, type AwsBench } from "./support.ts";

const GROUP = "/aws/sagemaker/TrainingJobs";
type Ref = Extract<JobRef, { kind: "sagemaker" }>;

awsSuite("logs of SageMaker", (python) => {
  let bench: AwsBench;
  let client: CloudWatchLogsClient;
  beforeAll(async () => {
    bench = await awsBench(python);
    bench.service.runs = false;
    client = new CloudWatchLogsClient({
      endpoint: bench.service.url,
      region: REGION,
      credentials: CREDENTIALS,
    });
    await client.send(new CreateLogGroupCommand({ logGroupName: GROUP }));
  });
  afterAll(async () => {
    client.destroy();
    await bench.close();
  });

  const submit = async (): Promise<Ref> => {
    const job = bench.job([]);
    return accepted(bench.launcher, bench.launcher.plan(job, attemptOf(job)));
  };
  const start = systemClock.now() - 60_000;
  const stream = async (
    ref: Ref,
    name: string,
  ): Promise<(...lines: readonly (readonly [number, string])[]) => Promise<void>> => {
    const names = { logGroupName: GROUP, logStreamName: `${ref.job}/${name}` };
    await client.send(new CreateLogStreamCommand(names));
    return async (...lines) => {
      const logEvents = lines.map(([after, message]) => ({ timestamp: start + after, message }));
      await client.send(new PutLogEventsCommand({ ...names, logEvents }));
    };
  };
  const read = async (
    launcher: Launcher,
    ref: Ref,
    from: LogCursor,
  ): Promise<{ lines: string[]; cursor: LogCursor }> => {
    const lines: string[] = [];
    let cursor = from;
    for await (const chunk of launcher.logs(ref, cursor, {
      follow: false,
      signal: new AbortController().signal,
    })) {
      lines.push(...chunk.lines);
      ({ cursor } = chunk);
    }
    return { lines, cursor };
  };

  it("is empty before there is a stream", async () => {
    expect((await read(bench.launcher, await submit(), { offset: 0 })).lines).toEqual([]);
  });

  it("gives each line once over restarts, those of one millisecond too", async () => {
    const ref = await submit();
    const say = await stream(ref, "algo-1-1");
    await say([1, "a"], [1, "b"], [1, "a"]);
    const first = await read(bench.launcher, ref, { offset: 0 });
    expect(first).toMatchObject({ lines: ["a", "b", "a"], cursor: { offset: 3 } });
    await say([1, "c"], [2, "d"]);
    const restarted = await bench.another();
    const second = await read(restarted, ref, first.cursor);
    expect(second).toMatchObject({ lines: ["c", "d"], cursor: { offset: 5 } });
    expect((await read(restarted, ref, second.cursor)).lines).toEqual([]);
    // A position in lines alone.
    expect((await read(restarted, ref, { offset: 3 })).lines).toEqual(["c", "d"]);
    await restarted.close();
  });

  it("does not take an empty page for the end", async () => {
    const ref = await submit();
    const say = await stream(ref, "algo-1-1");
    await say([1, "a"], [2, "b"]);
    bench.service.proxy.fail({ target: /GetLogEvents$/, times: 1, how: "empty-page" });
    expect((await read(bench.launcher, ref, { offset: 0 })).lines.at(-1)).toBe("b");
  });

  it("merges the containers of a job by time, and names all but the first", async () => {
    const ref = await submit();
    const one = await stream(ref, "algo-1-1");
    const two = await stream(ref, "algo-2-1");
    await one([1, "rank 0"], [3, "on"]);
    await two([2, "rank 8"]);
    const first = await read(bench.launcher, ref, { offset: 0 });
    expect(first.lines).toEqual(["rank 0", "[algo-2] rank 8", "on"]);
    await two([4, "late"]);
    expect((await read(bench.launcher, ref, first.cursor)).lines).toEqual(["[algo-2] late"]);
  });

  it("says that it could not be read, and goes on after the last line", async () => {
    const ref = await submit();
    const say = await stream(ref, "algo-1-1");
    await say([1, "a"]);
    const first = await read(bench.launcher, ref, { offset: 0 });
    await say([2, "b"]);
    bench.service.proxy.fail({ target: /GetLogEvents$/, times: 1, how: "drop-after" });
    await expect(read(bench.launcher, ref, first.cursor)).rejects.toMatchObject({ code: "LOG_UNREACHABLE" });
    bench.service.proxy.fail({ target: /GetLogEvents$/, times: 2, how: "throttle" });
    expect((await read(bench.launcher, ref, first.cursor)).lines).toEqual(["b"]);
  });

  it("refuses a cursor that it cannot read", async () => {
    const ref = await submit();
    await expect(read(bench.launcher, ref, { offset: 1, token: "{" })).rejects.toMatchObject({
      code: "LOG_CURSOR_INVALID",
    });
  });

  describe("after a day", () => {
    it.each(["they are old", "the service no longer knows them"])("tokens are not used: %s", async (why) => {
      const ref = await submit();
      const say = await stream(ref, "algo-1-1");
      const other = await stream(ref, "algo-2-1");
      await say([1, "a"], [2, "b"], [2, "c"]);
      await other([1, "A"]);
      const first = await read(bench.launcher, ref, { offset: 0 });
      await say([2, "d"], [3, "e"]);
      await other([1, "B"], [4, "C"]);
      const isOld = why === "they are old";
      const day = isOld ? 24 * 3_600_000 : 0;
      const clock: Clock = {
        now: () => systemClock.now() + day,
        sleep: async (milliseconds, signal) => systemClock.sleep(milliseconds, signal),
      };
      if (!isOld) {
        const how = {
          status: 400,
          type: "InvalidParameterException",
          message: "The specified nextToken is invalid.",
        };
        bench.service.proxy.fail({ target: /GetLogEvents$/, times: 2, how });
      }
      const later = await bench.another({}, clock);
      expect(await read(later, ref, first.cursor)).toMatchObject({
        lines: ["[algo-2] B", "d", "e", "[algo-2] C"],
        cursor: { offset: 8 },
      });
      await later.close();
    });
  });

  it("gives a restarted container's lines to its own attempt", async () => {
    const ref = await submit();
    const one = await stream(ref, "algo-1-1");
    const two = await stream(ref, "algo-1-2");
    await one([1, "of the first"]);
    await two([2000, "of the second"]);
    const next = { ...ref, marker: ref.marker.replace(/1$/, "2"), folder: ref.folder.replace(/1$/, "2") };
    const begun = {
      schemaVersion: 1,
      marker: next.marker,
      token: "t.2",
      job: ref.job,
      startedAt: new Date(start + 1500).toISOString(),
    };
    await bench.service.bucket.put("us-bucket", `${next.folder}/supervisor.json`, JSON.stringify(begun));
    expect((await read(bench.launcher, ref, { offset: 0 })).lines).toEqual(["of the first"]);
    expect((await read(bench.launcher, next, { offset: 0 })).lines).toEqual(["of the second"]);
  });

  it("goes on over many pages", async () => {
    const ref = await submit();
    const aws = openAws(bench.profile, ENVIRONMENT);
    let asked = 0;
    const desk = {
      bucket: openBucket(aws, bench.profile.bucket, null),
      jobs: { describe: async () => undefined },
      clock: systemClock,
      pollSeconds: 1,
      streams: {
        of: async () => ["job/algo-1-1"],
        page: async () => {
          asked += 1;
          // Full, empty, empty, full, and then the same token again.
          const pages = [["a"], [], [], ["b"]];
          const events = (pages[asked - 1] ?? []).map((message) => ({ timestamp: 5, message }));
          return { events, next: `t${Math.min(asked, 4)}` };
        },
      },
    };
    const lines: string[] = [];
    for await (const chunk of readLogs(
      ref,
      { offset: 0 },
      { follow: false, signal: new AbortController().signal },
      desk,
    ))
      lines.push(...chunk.lines);
    expect(lines).toEqual(["a", "b"]);
    expect(asked).toBe(5);
    await aws.close();
  });
});
