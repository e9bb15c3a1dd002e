import { writeFileSync } from "node:fs";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { sshLauncher } from "../../../src/launch/ssh/launcher.ts";
import { localTransport } from "../../../src/launch/transport/index.ts";
import { systemClock } from "../../../src/core/clock.ts";
import type { JobInput, Launcher, LaunchProgress } from "../../../src/launch/index.ts";
import { attemptOf, temporaryFolder } from "../support.ts";
import { localBench, machine } from "./support.ts";

describe("a submission over SSH that is told to stop", () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());

  it("ends the upload, starts nothing, gives the host back, and goes on later where it was", async () => {
    const made = machine(folder.path, "one", []);
    const bench = await localBench(folder.path, { machines: [made], settings: { jobsPerHost: 1 } });
    const source = join(folder.path, "shard.parquet");
    const bytes = randomBytes(48 * 2 ** 20);
    writeFileSync(source, bytes);
    const input: JobInput = {
      role: "data",
      path: join(folder.path, "data", "shard.parquet"),
      source,
      bytes: bytes.length,
      sha256: createHash("sha256").update(bytes).digest("hex"),
    };
    const stop = new AbortController();
    const reason = new Error("Ctrl-C");
    const { PATH, HOME } = process.env;
    const open = async (signal: AbortSignal | undefined): Promise<Launcher> => {
      const onProgress = ({ kind, done = 0 }: LaunchProgress): void => {
        if (kind === "upload" && done > 24 * 2 ** 20) stop.abort(reason);
      };
      const world = { ...bench.world, onProgress, ...(signal && { signal }) };
      return sshLauncher(bench.profile, world, async () =>
        localTransport({ clock: systemClock, environment: { PATH, HOME, ...made.environment } }),
      );
    };
    const launcher = await open(stop.signal);
    const job = bench.job([["exit", 0]], { inputs: [input] });
    const plan = launcher.plan(job, attemptOf(job));
    await expect(launcher.submit(plan)).rejects.toBe(reason);
    expect(existsSync(input.path)).toBe(false);
    expect(statSync(`${input.path}.part`).size).toBeLessThan(bytes.length);
    expect(existsSync(plan.cwd)).toBe(false);
    const leases = readdirSync(made.locks, { recursive: true, encoding: "utf8" });
    expect(leases.filter((name) => name.includes("lease-"))).toEqual([]);
    const again = await open(undefined);
    expect(await again.find(plan)).toEqual({ outcome: "none" });
    expect(await again.submit(plan)).toMatchObject({ outcome: "accepted" });
    expect(statSync(input.path).size).toBe(bytes.length);
  });
});
