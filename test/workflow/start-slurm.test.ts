import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LAB_PROGRAMS, LAB_USER } from "../real/slurm/lab.ts";
import { realSuite } from "../support/real-suite.ts";
import { packOnce } from "./data-stage.ts";
import { makeCluster } from "./far-slurm.ts";
import { run, TINY } from "./start-support.ts";
import { until } from "./support.ts";

packOnce();

realSuite("run start --on a Slurm cluster", { programs: LAB_PROGRAMS, root: true }, () => {
  it(
    "goes on with nobody watching, is adopted as one run with two attempts, and is evaluated there",
    { timeout: 300_000 },
    async () => {
      const { stage, lab, folder } = await makeCluster();
      const home = join(folder, "stand-in");
      writeFileSync(join(home, "behaviour.json"), JSON.stringify({ train: { waitAt: 3 } }));
      const started = await run(stage, [...TINY, "--on", "cluster", "--json"]);
      expect({ exitCode: started.exitCode, stderr: started.stderr }).toMatchObject({ exitCode: 0 });
      const { run: made }: { run: { id: string } } = JSON.parse(started.stdout);
      const far = join(folder, "runs", made.id);
      await until(() => existsSync(join(far, "output/checkpoint-2/_COMPLETE.json")) || undefined);

      // Nobody watches from here on: the cluster starts the job again, and it trains to the end.
      writeFileSync(join(home, "behaviour.json"), "{}");
      const [id = ""] = lab.run(["squeue", "-h", "-t", "RUNNING", "-o", "%i"]).trim().split("\n");
      lab.run(["scontrol", "requeue", id]);
      await until(() => existsSync(join(far, "attempts/2/result.json")) || undefined);

      await until(async () => {
        await run(stage, ["run", "watch", "--once"]);
        const shown = await run(stage, ["run", "show", made.id, "--json"]);
        const now: { state: string } = JSON.parse(shown.stdout);
        return now.state === "succeeded" ? true : undefined;
      });
      const { stdout } = await run(stage, ["run", "show", made.id, "--json"]);
      const { attempts }: { attempts: { number: number; reason: string }[] } = JSON.parse(stdout);
      expect(attempts.map(({ number, reason }) => [number, reason])).toEqual([
        [1, "preempted"],
        [2, "succeeded"],
      ]);
      const logs = await run(stage, ["run", "logs", made.id]);
      const steps = [...logs.stdout.matchAll(/^attempt (\d) step (\d)$/gm)].map(([, number, step]) => [
        number,
        step,
      ]);
      expect(steps.filter(([number]) => number === "2")).toEqual([
        ["2", "3"],
        ["2", "4"],
      ]);

      const evaluated = await run(stage, ["eval", "start", made.id]);
      expect({ exitCode: evaluated.exitCode, stderr: evaluated.stderr }).toMatchObject({ exitCode: 0 });
      expect(readdirSync(join(folder, "runs")).toSorted()).toEqual([
        made.id,
        `${made.id}-infer-1`,
        `${made.id}-score-1`,
      ]);
      // What waits of the chain has nothing to do and ends by itself, or was ended.
      await until(() => (lab.run(["squeue", "-h"]).trim() === "" ? true : undefined));
      expect(readFileSync(join(far, "fence"), "utf8")).toMatch(/\.2\n$/);
      expect(readdirSync(join(far, "attempts")).toSorted()).toEqual(["1", "2"]);
      expect(execFileSync("stat", ["-c", "%U", far], { encoding: "utf8" })).toBe(`${LAB_USER}\n`);
    },
  );
});
