import { describe, expect, it } from "vitest";
import { findCheckpoints, verifyListed, type CheckpointFiles } from "../../src/checkpoint/index.ts";
import { LauncherProfile, markerOf, type JobRef } from "../../src/launch/index.ts";
import { whereOf } from "../../src/workflow/launchers-where.ts";
import { runLogs, type LogLine } from "../../src/workflow/logs.ts";
import { checkProof } from "../../src/workflow/proof.ts";
import { lockOf } from "../../src/workflow/run-lock.ts";
import { startRun } from "../../src/workflow/runs.ts";
import { RemoteError } from "../../src/core/errors.ts";
import { clusterProfile, ended, result, save, scriptedStage } from "./scripted.ts";
import { refOf } from "./scripted-launcher.ts";

const RUN = "20260131-101500-files-ab12";

describe("checkpoints on another machine", () => {
  it("are proven there: sizes and headers from a listing, digests where they lie, nothing downloaded", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    const run = await startRun(shop, job(RUN));
    save(far, RUN, 4);
    const ref = refOf(markerOf(RUN, 1), `/far/runs/${RUN}/attempts/1`);
    const files = far.launcher.artifacts(ref);
    const proof = await checkProof(lockOf(run), { files, ref });
    expect(proof).toEqual({ holds: true, detail: "checkpoint 4 is complete and verified" });
    expect(far.asked.digests).toEqual(["output/checkpoint-4/model.safetensors"]);
    far.files.set(`${RUN}/output/checkpoint-4/model.safetensors`, Buffer.from("half"));
    expect((await checkProof(lockOf(run), { files, ref })).detail).toContain("4 bytes instead of");
    far.files.delete(`${RUN}/output/checkpoint-4/_COMPLETE.json`);
    expect((await checkProof(lockOf(run), { files, ref })).detail).toContain("not finished");
  });

  it("above 4 GB are proven by size alone, and nobody reads them", async () => {
    const big = 127e9;
    const header = Buffer.from(JSON.stringify({ w: { dtype: "F32", shape: [1], data_offsets: [0, big] } }));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    const head = Buffer.concat([length, header]);
    const bytes = head.length + big;
    const marker = {
      schemaVersion: 1,
      step: 4,
      epoch: 1,
      kind: "full",
      worldSize: 8,
      trainLoss: 1,
      evalLoss: null,
      files: { "model.safetensors": { bytes, sha256: "0".repeat(64) } },
    };
    let read = 0;
    const files: CheckpointFiles = {
      list: async () => [
        { path: "output/checkpoint-4/model.safetensors", bytes },
        { path: "output/checkpoint-4/_COMPLETE.json", bytes: 9 },
      ],
      read: async (path, start = 0, end = Infinity) => {
        const block = path.endsWith(".json") ? Buffer.from(JSON.stringify(marker)) : head;
        read += block.subarray(start, end).length;
        return block.subarray(start, end);
      },
      digest: async () => {
        throw new Error("nobody hashes 127 GB on every look");
      },
    };
    const { shop: open, job } = await scriptedStage();
    const run = await startRun(open(), job(RUN));
    const ref = refOf("m", `/far/runs/${RUN}/attempts/1`);
    expect(await checkProof(lockOf(run), { files, ref })).toEqual({
      holds: true,
      detail: "checkpoint 4 is complete and verified by size",
    });
    expect(read).toBeLessThan(10_000);
  });

  it("whose digests cannot be computed there are compared by size, and that is said", async () => {
    const { far } = await scriptedStage();
    save(far, RUN, 4);
    const ref = refOf("m", `/far/runs/${RUN}/attempts/1`);
    const files = { ...far.launcher.artifacts(ref), digest: async () => null };
    const [found] = await findCheckpoints(files, "output");
    if (!found?.checkpoint.complete) throw new Error("not complete");
    const { folder, marker } = found.checkpoint;
    const verified = await verifyListed(files, { folder, marker, sizes: found.sizes }, { digests: true });
    expect(verified).toEqual({ problems: [], digests: false });
  });

  it("are not called broken when the machine cannot be reached", async () => {
    const { far } = await scriptedStage();
    save(far, RUN, 4);
    const lost = async (): Promise<never> => {
      throw new RemoteError("TRANSPORT_LOST", "connection lost");
    };
    const files = { ...far.launcher.artifacts(refOf("m", `/far/runs/${RUN}/attempts/1`)), read: lost };
    await expect(findCheckpoints(files, "output")).rejects.toMatchObject({ code: "TRANSPORT_LOST" });
  });

  const bucket = LauncherProfile.parse({
    schemaVersion: 1,
    kind: "sagemaker",
    region: "eu-west-1",
    role: "arn:aws:iam::1:role/r",
    image: "i",
    bucket: "speech",
  });
  const cases: readonly (readonly [string, LauncherProfile, JobRef])[] = [
    [
      "/runs/r/output/checkpoint-4",
      LauncherProfile.parse({ schemaVersion: 1, kind: "local" }),
      { kind: "local", marker: "m", folder: "/runs/r/attempts/1" },
    ],
    [
      "ssh://gpu1/runs/r/output/checkpoint-4",
      clusterProfile(),
      { kind: "ssh", marker: "m", folder: "/runs/r/attempts/1", host: "gpu1" },
    ],
    ["ssh://trainer@login1/runs/r/output/checkpoint-4", clusterProfile(), refOf("m", "/runs/r/attempts/2")],
    [
      "s3://speech/understudy/r/output/checkpoint-4",
      bucket,
      {
        kind: "sagemaker",
        marker: "m",
        folder: "understudy/r/attempts/1",
        region: "eu-west-1",
        job: "j",
        submittedAt: 0,
      },
    ],
  ];
  it.each(cases)("lie at %s", (uri, profile, ref) => {
    expect(whereOf(profile, ref, "output/checkpoint-4")).toBe(uri);
  });
});

describe("logs over attempts, reconnects and controllers", () => {
  const log = (number: number): string => `${RUN}/attempts/${number}/log.txt`;

  it("gives every line once, with a boundary where another attempt begins to speak", async () => {
    const { far, clock, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    far.files.set(log(1), Buffer.from("one\ntwo\n"));
    let reads = 0;
    // What happens far away between two looks at the log.
    const story: Readonly<Record<number, () => void>> = {
      2: () => {
        throw new RemoteError("TRANSPORT_LOST", "connection lost");
      },
      3: () => far.files.set(log(1), Buffer.from("one\ntwo\nthree\n")),
      4: () => {
        const refs = [refOf(markerOf(RUN, 2), `/far/runs/${RUN}/attempts/2`)];
        far.sights.set(markerOf(RUN, 1), ended("preempted", null, { continues: { refs, token: "T.2" } }));
        far.files.set(log(2), Buffer.from("four\n"));
      },
      7: () => {
        save(far, RUN, 4, 2);
        far.files.set(log(2), Buffer.from("four\nfive\n"));
        far.sights.set(markerOf(RUN, 2), ended("completed", result(markerOf(RUN, 2))));
      },
    };
    far.beforeLogs = () => story[(reads += 1)]?.();
    const lines: LogLine[] = [];
    // Time passes while the reader waits.
    const passing = setInterval(() => clock.forward(10_000), 1);
    try {
      for await (const line of runLogs(shop, { runId: RUN, follow: true })) lines.push(line);
    } finally {
      clearInterval(passing);
    }
    expect(lines.map(({ text }) => text)).toEqual([
      "one",
      "two",
      "three",
      "--- attempt 2, after attempt 1: the machine was given to another job ---",
      "four",
      "five",
    ]);
    expect(shop.store.getRun(RUN).state).toBe("succeeded");
  });

  it("tells who only reads that the machine cannot be reached", async () => {
    const { far, shop: open, job } = await scriptedStage();
    const shop = open();
    await startRun(shop, job(RUN));
    far.beforeLogs = () => {
      throw new RemoteError("TRANSPORT_LOST", "connection lost");
    };
    const reading = async (): Promise<void> => {
      for await (const _ of runLogs(shop, { runId: RUN, follow: false }));
    };
    await expect(reading()).rejects.toMatchObject({ code: "TRANSPORT_LOST" });
  });
});
