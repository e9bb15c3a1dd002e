import { chmodSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { prepareEnvironment } from "../../../src/launch/far/index.ts";
import { jobKey } from "../../../src/launch/index.ts";
import { openTransport, type Transport } from "../../../src/launch/transport/index.ts";
import { smallDisk, smallDiskSuite } from "../../real/sshd/small-disk.ts";
import { house } from "../far/environment-support.ts";
import { world as farWorld } from "../far/support.ts";
import { attemptOf, sweep, temporaryFolder, until } from "../support.ts";
import { world } from "../transport/ssh-bench.ts";
import { sshdBench, type SshdBench } from "./sshd-bench.ts";

const MEGABYTES = 200;
const PYTHON = "/usr/bin/python3";

smallDiskSuite("a run on a host whose disk is full", ["sshd", "setsid", "python3"], () => {
  let bench: SshdBench;
  let transport: Transport;
  let disk = "";
  const markers: string[] = [];
  beforeAll(async () => {
    const place = temporaryFolder().path;
    chmodSync(place, 0o755);
    disk = join(place, "disk");
    const prefix = smallDisk(disk, MEGABYTES);
    bench = await sshdBench({ sshd: { prefix } });
    const [endpoint] = bench.profile.hosts;
    if (endpoint === undefined) throw new Error("no host");
    transport = await openTransport(endpoint, bench.profile, world);
  }, 60_000);
  afterEach(async () => {
    for (const marker of markers.splice(0)) await sweep(marker);
    await far("rm -rf *");
  });
  afterAll(async () => {
    await transport.close();
    await bench.remove();
  });

  const far = async (script: string): Promise<string> => {
    const outcome = await transport.exec(["sh", "-c", `cd "$1" && ${script}`, "sh", disk]);
    if (outcome.kind !== "exited" || outcome.code !== 0) throw new Error(JSON.stringify(outcome));
    return outcome.stdout.toString().trim();
  };

  it("says so with numbers while the environment is made, leaves nothing, and makes it later", async () => {
    const wheels = join(bench.folder, "data", "wheels");
    mkdirSync(wheels, { recursive: true });
    execFileSync("cp", ["-r", `${house}/.`, wheels]);
    execFileSync("chmod", ["-R", "a+rX", wheels]);
    const lock = join(bench.folder, "data", "requirements.lock");
    writeFileSync(lock, "demo-tool==1.2\n");
    const folder = join(disk, "env", "abc");
    const environment = { folder, python: PYTHON, locks: [lock], wheelhouse: wheels, device: "cpu" } as const;
    const prepare = async (): Promise<void> =>
      prepareEnvironment(transport, environment, {
        umask: "0022",
        signal: new AbortController().signal,
        world: farWorld,
        onLine: () => undefined,
      });
    await far(`head -c ${(MEGABYTES - 6) * 2 ** 20} /dev/zero >filler`);
    await expect(prepare()).rejects.toMatchObject({
      code: "DISK_FULL",
      message: expect.stringMatching(
        new RegExp(
          `the disk of ${folder} is full: \\d+ of ${MEGABYTES} MB are free, and an environment takes about 2 GB`,
        ),
      ),
      hint: expect.stringContaining("paths.env"),
    });
    expect(await far("ls env")).toBe("abc.lock");
    await far("cat /dev/zero >rest 2>/dev/null || :");
    await expect(prepare()).rejects.toMatchObject({
      message: expect.stringMatching(new RegExp(`disk.* is full.* of ${MEGABYTES} MB are free`)),
    });
    await far("rm filler rest");
    await prepare();
    expect(await far("env/abc/bin/demo-tool && ls env")).toBe("demo runs\nabc");
  }, 180_000);

  it("refuses a start with numbers, and starts it when there is room again", async () => {
    const job = bench.job([["wait", "go"]], { runFolder: join(disk, "runs", "full") });
    const plan = bench.launcher.plan(job, attemptOf(job));
    markers.push(plan.attempt.marker);
    await far("mkdir runs && cat /dev/zero >filler 2>/dev/null || :");
    const answer = await bench.launcher.submit(plan);
    expect(answer).toMatchObject({
      outcome: "rejected",
      reason: expect.stringMatching(
        new RegExp(`the disk is full on .*; 0 bytes of the 209\\.7 MB of ${disk} are free`),
      ),
    });
    expect(await bench.launcher.find(plan)).toEqual({ outcome: "none" });
    expect(existsSync(join(disk, "runs"))).toBe(false);
    await far("rm filler");
    const again = await bench.launcher.submit(plan);
    const ref = again.outcome === "accepted" ? again.refs[0] : undefined;
    if (ref === undefined) throw new Error(JSON.stringify(again));
    expect((await bench.launcher.observe([ref])).get(jobKey(ref))).toMatchObject({ phase: "live" });
    await far("touch runs/full/go");
    await until(async () =>
      (await bench.launcher.observe([ref])).get(jobKey(ref))?.phase === "ended" ? true : undefined,
    );
  }, 60_000);
});
