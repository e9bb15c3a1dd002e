import { fork, type ChildProcess } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { NewJob } from "../../src/workflow/runs.ts";
import { compile } from "../launch/compile.ts";
import type { Stage } from "./support.ts";
import { removeFolder } from "../support/remove-folder.ts";

const place = mkdtempSync(join(tmpdir(), "understudy-controller-"));
afterAll(() => removeFolder(place));
const output = compile(place, ["workflow/index.ts"]);

const from = (path: string): string => JSON.stringify(join(output, path));

// Kills itself right before or after one call of the store or the clock. The product knows nothing of this.
const script = join(place, "controller.mjs");
writeFileSync(
  script,
  `import { projectAt } from ${from("core/project.js")};
   import { systemClock } from ${from("core/clock.js")};
   import { withShop } from ${from("workflow/shop.js")};
   import { startRun } from ${from("workflow/runs.js")};
   import { followRun } from ${from("workflow/follow.js")};
   import { watchRuns } from ${from("workflow/watch.js")};
   const { root, request, runId, fatal, watches } = JSON.parse(process.argv[2]);
   const die = () => process.kill(process.pid, "SIGKILL");
   let calls = 0;
   const isFatal = (method, to) => {
     if (fatal === null || fatal.method !== method || (fatal.to ?? to) !== to) return false;
     calls += 1;
     return calls === (fatal.call ?? 1);
   };
   const mined = (target) => new Proxy(target, {
     get: (_, name) => {
       const method = target[name];
       return typeof method !== "function" ? method : (...words) => {
         const hit = isFatal(name, name === "transition" ? words[1].to : undefined);
         if (hit && fatal.when === "before") die();
         const result = method(...words);
         if (hit) die();
         return result;
       };
     },
   });
   const settings = {
     project: projectAt(root), clock: mined(systemClock), environment: process.env, signal: new AbortController().signal,
   };
   await withShop(settings, async (shop) => {
     const own = { ...shop, store: mined(shop.store) };
     if (request) await startRun(own, request);
     if (watches) {
       const { runs } = await watchRuns(own);
       process.exitCode = runs.every(({ state }) => state === "succeeded") ? 0 : 9;
       return;
     }
     const { state } = await followRun(own, runId);
     process.exitCode = state === "succeeded" ? 0 : 9;
   });`,
);

/** A call at which the controller kills itself. */
export interface Fatal {
  readonly method: string;
  readonly when: "before" | "after";
  /** Only the transition to this state. */
  readonly to?: string;
  /** The how-many-eth such call; default the first. */
  readonly call?: number;
}

/**
 * A controller in a process of its own that starts (when `request` is given) and follows a run, or watches all runs of the
 * project (`watches`) until they have ended.
 */
export const controller = (
  stage: Stage,
  {
    runId,
    request = null,
    fatal = null,
    watches = false,
  }: {
    readonly runId: string;
    readonly request?: NewJob | null;
    readonly fatal?: Fatal | null;
    readonly watches?: boolean;
  },
): ChildProcess =>
  fork(script, [JSON.stringify({ root: stage.project.root, request, runId, fatal, watches })], {
    env: stage.environment,
  });

/** Exit code or signal of a process, which may have ended before: nobody is told of that a second time. */
export const endOf = async (child: ChildProcess): Promise<number | string | null> =>
  child.exitCode ??
  child.signalCode ??
  new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? signal));
  });
