import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import {
  jobKey,
  layoutAt,
  type Job,
  type JobRef,
  type Launcher,
  type Plan,
} from "../../../src/launch/index.ts";
import { realSuite } from "../../support/real-suite.ts";
import { attemptOf, sweep, temporaryFolder, until } from "../support.ts";
import { linesOf, makeController, type Fatal } from "./controller.ts";
import { sshdBench, type SshdBench } from "./sshd-bench.ts";

realSuite(
  "a controller that is killed while it submits over SSH",
  { programs: ["sshd", "ssh", "setsid"], root: true },
  () => {
    let bench: SshdBench;
    let control: ReturnType<typeof makeController>;
    const markers: string[] = [];
    beforeAll(async () => {
      bench = await sshdBench({
        machines: { one: ["GPU-1, 0", "GPU-2, 0"] },
        settings: { device: "cuda" },
        environment: { ...process.env, TEST_SECRET: "a-secret-of-this-test" },
      });
      control = makeController(temporaryFolder().path);
    }, 60_000);
    afterEach(async () => {
      for (const marker of markers.splice(0)) await sweep(marker);
    });
    afterAll(async () => bench.remove());

    /** What any controller does that finds an attempt begun: by rule, until the job is known. */
    const settle = async (launcher: Launcher, plan: Plan, first: "find" | "submit"): Promise<JobRef> => {
      let looks = first === "find";
      for (let tries = 0; tries < 50; tries++) {
        const answer = looks ? await launcher.find(plan) : await launcher.submit(plan);
        const [ref] = "refs" in answer ? answer.refs : [];
        if (ref) return ref;
        // A submission is only repeated when nobody holds the marker.
        looks = answer.outcome !== "none";
        await systemClock.sleep(50);
      }
      throw new Error("it was never settled");
    };
    const wrappersOf = (marker: string): number =>
      readdirSync("/proc").filter((pid) => {
        try {
          const argv = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
          // The wrapper's own subshells are forks that show its arguments: only the leader of the session counts.
          const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
            .replace(/^.*\) /, "")
            .split(" ");
          return argv.includes("--marker") && argv.includes(marker) && stat[3] === pid;
        } catch {
          return false;
        }
      }).length;

    const exactlyOne = async (fatal: Fatal, job: Job, first: "find" | "submit"): Promise<boolean> => {
      const attempt = attemptOf(job);
      markers.push(attempt.marker);
      const end = await control(bench, job, attempt, fatal);
      const launcher = await bench.another();
      const plan = launcher.plan(job, attempt);
      const ref = await settle(launcher, plan, first);
      const layout = layoutAt(ref.folder);
      await until(async () => (linesOf(layout.log).length > 0 ? true : undefined));
      expect(wrappersOf(attempt.marker), JSON.stringify(fatal)).toBe(1);
      expect(readdirSync(join(job.runFolder, "claims"))).toEqual([attempt.marker]);
      expect((await launcher.observe([ref])).get(jobKey(ref))).toMatchObject({ phase: "live" });
      expect((await launcher.submit(plan)).outcome).toBe("ambiguous");
      writeFileSync(join(job.runFolder, "go"), "");
      const ended = await until(async () => {
        const seen = (await launcher.observe([ref])).get(jobKey(ref));
        return seen?.phase === "ended" ? seen : undefined;
      });
      expect(ended).toMatchObject({ result: { exitCode: 0 } });
      expect(linesOf(layout.log)).toEqual(["once"]);
      // Nothing secret stays behind.
      expect(readdirSync(layout.folder).filter((name) => name.startsWith("secrets"))).toEqual([]);
      await launcher.close();
      return end.died;
    };

    const held = (): Job =>
      bench.job(
        [
          ["say", "once"],
          ["wait", "go"],
        ],
        { secrets: ["TEST_SECRET"] },
      );

    // 1 look, 2 reservation, 3 last look, 4 what lies there, 5-8 files, 9 secret, 10 fence, 11 start. After a step is before
    // the next one.
    const START = 11;
    it.each<Fatal>([
      ...[1, 2, 3, 4, 5, 8, 9, 10, START].map((step): Fatal => ({ step, when: "before" })),
      { step: 2, when: "during" },
      { step: 9, when: "during" },
      { step: START, when: "during" },
      { step: START, when: "after" },
    ])("leaves exactly one job when it dies $when step $step", { timeout: 60_000 }, async (fatal) => {
      expect(await exactlyOne(fatal, held(), fatal.step % 2 === 0 ? "find" : "submit")).toBe(true);
    });

    it("has no other step at which it could die", { timeout: 60_000 }, async () => {
      expect(await exactlyOne({ step: START + 1, when: "before" }, held(), "find")).toBe(false);
    });
  },
);
