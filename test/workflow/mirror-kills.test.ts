import { fork } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { compile } from "../launch/compile.ts";
import { look } from "../real/mlflow/look.ts";
import { mlflowSuite, startMlflow, type MlflowServer } from "../real/mlflow/server.ts";
import { checkpoint, mirrorStage, range, steps, type MirrorStage } from "./mirror-support.ts";
import { removeFolder } from "../support/remove-folder.ts";

// A server that keeps files has every point as often as it is sent: what one with a database would forgive shows here.
await mlflowSuite("a program that is killed while it copies a run to MLflow", "old", (python) => {
  const place = mkdtempSync(join(tmpdir(), "understudy-mirror-"));
  let server: MlflowServer;
  beforeAll(async () => {
    server = await startMlflow(python, "files");
    const output = compile(place, ["workflow/index.ts"]);
    const from = (path: string): string => JSON.stringify(join(output, path));
    // The product knows nothing of this: fetch kills the program, before or after the server has done its part.
    writeFileSync(
      join(place, "program.mjs"),
      `import { projectAt } from ${from("core/project.js")};
       import { systemClock } from ${from("core/clock.js")};
       import { withShop } from ${from("workflow/shop.js")};
       const { root, call, when, ahead } = JSON.parse(process.argv[2]);
       const die = () => process.kill(process.pid, "SIGKILL");
       let calls = 0;
       const fatal = async (...words) => {
         calls += 1;
         const isHit = calls === call;
         if (isHit && when === "before") { die(); await new Promise(() => {}); }
         const answer = await fetch(...words);
         if (!isHit) return answer;
         await answer.text();
         die();
         await new Promise(() => {});
       };
       const clock = { ...systemClock, now: () => Date.now() + ahead };
       const signal = new AbortController().signal;
       const request = { project: projectAt(root), clock, environment: process.env, signal, fetch: fatal };
       await withShop(request, async (shop) => shop.mirror.nudge());`,
    );
  });
  afterAll(async () => {
    await server.close();
    removeFolder(place);
  });

  const program = async (
    stage: MirrorStage & { experiment: string },
    fatal: { readonly call: number; readonly when: "before" | "after" | "never"; readonly ahead?: number },
  ): Promise<number | string | null> => {
    const { root } = stage.stage.project;
    const child = fork(join(place, "program.mjs"), [JSON.stringify({ root, ahead: 0, ...fatal })], {
      env: {
        PATH: process.env["PATH"],
        MLFLOW_TRACKING_URI: server.url,
        MLFLOW_EXPERIMENT_NAME: stage.experiment,
      },
    });
    return new Promise((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal)));
  };

  it.each(["before", "after"] as const)(
    "%s any of its calls leaves one run with each step once to the next program",
    async (when) => {
      let kills = 0;
      for (let call = 1; ; call++) {
        const experiment = `killed-${when}-${call}`;
        const stage = { experiment, ...(await mirrorStage(server.url, experiment)) };
        await stage.start("r");
        stage.become("r", "running");
        stage.say("r", ...steps(1, 1, 20), checkpoint(1, 20));
        const end = await program(stage, { call, when });
        if (end === 0) break;
        expect(end).toBe("SIGKILL");
        kills += 1;
        stage.say("r", ...steps(1, 21, 30), checkpoint(1, 30));
        // What was asked for and never came is asked for again after a minute.
        expect(await program(stage, { call: 0, when: "never", ahead: 120_000 })).toBe(0);
        expect(stage.shop.store.mirrors.behind(stage.key)).toEqual([]);
        const runs = await look(server.url).runs(experiment);
        expect(runs.map(({ status }) => status)).toEqual(["RUNNING"]);
        for (const key of ["train/loss", "live/loss"]) {
          const history = await look(server.url).history(runs[0]?.id ?? "", key);
          expect(history.map(([step]) => step).toSorted((a, b) => a - b)).toEqual(range(1, 30));
        }
      }
      // One for each call that a first copy takes.
      expect(kills).toBeGreaterThanOrEqual(7);
    },
    300_000,
  );
});
