import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect, it } from "vitest";
import { z } from "zod";
import { systemClock } from "../../../src/core/clock.ts";
import { withProcessLock } from "../../../src/core/process-lock.ts";
import { processOwner } from "../../../src/core/process-owner.ts";
import { jobKey, layoutAt } from "../../../src/launch/index.ts";
import { realSuite } from "../../support/real-suite.ts";
import { compile } from "../compile.ts";
import { attemptOf, bench, logHolds, sweep, temporaryFolder } from "../support.ts";

// What a container of this machine sees that shares its name, its boot and its files, but not its pids.
realSuite("a pid namespace of its own", { programs: ["unshare"], root: true }, () => {
  const folder = temporaryFolder();
  const markers: string[] = [];
  afterEach(async () => {
    for (const marker of markers.splice(0)) await sweep(marker);
  });
  afterAll(() => folder.remove());

  const output = compile(folder.path, ["launch/index.ts", "core/clock.ts", "core/process-owner.ts"]);
  const program = join(folder.path, "inside.mjs");
  writeFileSync(
    program,
    `import { readFileSync } from "node:fs";
     import { openLauncher, jobKey } from ${JSON.stringify(join(output, "launch/index.js"))};
     import { systemClock } from ${JSON.stringify(join(output, "core/clock.js"))};
     import { isOwnerGone } from ${JSON.stringify(join(output, "core/process-owner.js"))};
     import { withProcessLock } from ${JSON.stringify(join(output, "core/process-lock.js"))};
     const { ref, payload, owner, lock } = JSON.parse(readFileSync(process.argv[2], "utf8"));
     const launcher = await openLauncher({ schemaVersion: 1, kind: "local", device: "cpu", processes: 1, graceSeconds: 1 },
       { clock: systemClock, environment: process.env, payload });
     const seen = (await launcher.observe([ref])).get(jobKey(ref));
     const cancelled = await launcher.cancel(ref, "now");
     // Hours pass at once.
     let now = 0;
     const clock = { now: () => now, sleep: async () => { now += 600_000; } };
     const locked = await withProcessLock(lock, { clock }, async () => "entered").catch((error) => error.code);
     const gone = [await isOwnerGone(owner), await isOwnerGone(owner.split("|").slice(0, 4).join("|"))];
     process.stdout.write(JSON.stringify({ seen, cancelled, locked, gone }));`,
  );
  const Answer = z.object({
    seen: z.object({ phase: z.string(), detail: z.string() }),
    cancelled: z.string(),
    locked: z.string(),
    gone: z.array(z.boolean()),
  });

  it("cannot tell of what lives outside: it calls nothing dead, ends nothing, and takes no lock", async () => {
    const local = await bench(folder.path);
    const job = local.job([
      ["say", "up"],
      ["wait", "go"],
    ]);
    markers.push(attemptOf(job).marker);
    const answer = await local.launcher.submit(local.launcher.plan(job, attemptOf(job)));
    const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
    if (ref === undefined) throw new Error(JSON.stringify(answer));
    await logHolds(ref, "up");
    const lock = join(folder.path, "lock");
    const request = join(folder.path, "request.json");
    writeFileSync(
      request,
      JSON.stringify({ ref, payload: local.payload, owner: await processOwner(), lock }),
    );
    const said = await withProcessLock(lock, { clock: systemClock }, async () =>
      execFileSync("unshare", ["--pid", "--fork", "--mount-proc", process.execPath, program, request], {
        encoding: "utf8",
      }),
    );
    const { seen, cancelled, locked, gone } = Answer.parse(JSON.parse(said));
    expect(seen).toMatchObject({ phase: "unavailable" });
    expect(seen.detail).toContain("another container");
    expect(cancelled).toBe("requested");
    expect(locked).toBe("LOCK_HELD_ELSEWHERE");
    // An owner that was written down before namespaces were is judged as it was then.
    expect(gone).toEqual([false, true]);
    const observed = async (): Promise<unknown> => (await local.launcher.observe([ref])).get(jobKey(ref));
    expect(await observed()).toMatchObject({ phase: "live" });

    // Records of before: judged by pid alone.
    const { namespace, supervisor } = layoutAt(ref.folder);
    expect(readFileSync(namespace, "utf8").trim()).toMatch(/^\d+$/);
    rmSync(namespace);
    expect(await observed()).toMatchObject({ phase: "live" });
    expect(existsSync(supervisor)).toBe(true);
    await local.launcher.close();
  }, 60_000);
});
