import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { sha256 } from "../../../src/core/hash.ts";
import type { ArtifactStore } from "../../../src/launch/index.ts";
import { attemptOf } from "../support.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import { accepted, awsBench, type AwsBench } from "./support.ts";

awsSuite("what a run keeps in the bucket", (python) => {
  let bench: AwsBench;
  let store: ArtifactStore;
  let run: string;
  beforeAll(async () => {
    bench = await awsBench(python);
    bench.service.runs = false;
    const job = bench.job([]);
    const ref = await accepted(bench.launcher, bench.launcher.plan(job, attemptOf(job)));
    store = bench.launcher.artifacts(ref);
    run = `understudy/runs/${job.runId}`;
  });
  afterAll(async () => bench.close());

  it("is fetched on from where the connection was cut", async () => {
    const content = Buffer.alloc(2_000_000, "0123456789");
    await bench.service.bucket.put("us-bucket", `${run}/output/checkpoint-5/model.bin`, content);
    const to = join(bench.folder, "down", "model.bin");
    const fetches = (): readonly string[] =>
      bench.service.proxy.seen
        .filter(({ target }) => /^GET .*model\.bin/.test(target))
        .map(({ text }) => text);
    bench.service.proxy.fail({ target: /^GET .*model\.bin/, times: 1, how: "cut" });
    await expect(store.download("output/checkpoint-5/model.bin", to)).rejects.toThrow();
    const [part = ""] = readdirSync(join(bench.folder, "down"));
    const have = statSync(join(bench.folder, "down", part)).size;
    expect(have).toBeGreaterThan(0);
    await store.download("output/checkpoint-5/model.bin", to);
    expect(sha256(readFileSync(to))).toBe(sha256(content));
    expect(fetches().at(-1)).toContain(`"range":"bytes=${have}-"`);
    expect(readdirSync(join(bench.folder, "down"))).toEqual(["model.bin"]);
  });

  it("is not fetched when told to stop", async () => {
    await bench.service.bucket.put("us-bucket", `${run}/output/stopped`, "x");
    const stop = new AbortController();
    stop.abort();
    const to = join(bench.folder, "stopped", "file");
    await expect(store.download("output/stopped", to, { signal: stop.signal })).rejects.toThrow();
    expect(readdirSync(join(bench.folder, "stopped"))).toEqual([]);
  });

  it("begins anew where another object has taken the name", async () => {
    const to = join(bench.folder, "new", "file");
    await bench.service.bucket.put("us-bucket", `${run}/output/file`, "first");
    await store.download("output/file", to);
    await bench.service.bucket.put("us-bucket", `${run}/output/file`, "second!");
    await store.download("output/file", to);
    expect(readFileSync(to, "utf8")).toBe("second!");
  });

  it("reads empty files, and tells no digest that the store does not know", async () => {
    await bench.service.bucket.put("us-bucket", `${run}/output/empty`, Buffer.alloc(0));
    expect(await store.read("output/empty")).toHaveLength(0);
    const to = join(bench.folder, "empty");
    await store.download("output/empty", to);
    expect(readFileSync(to)).toHaveLength(0);
    expect(await store.digest("output/empty")).toBeNull();
    await expect(store.digest("output/none")).rejects.toMatchObject({ code: "ARTIFACT_MISSING" });
    await expect(store.download("output/none", to)).rejects.toMatchObject({ code: "ARTIFACT_MISSING" });
  });

  it("survives answers that are lost on the way", async () => {
    await bench.service.bucket.put("us-bucket", `${run}/output/lossy`, "content");
    bench.service.proxy.fail({ target: /^GET .*lossy/, times: 2, how: "drop-after" });
    expect(Buffer.from(await store.read("output/lossy")).toString()).toBe("content");
  });
});
