import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AttemptContext, Job } from "../../../src/launch/index.ts";
import { compile } from "../compile.ts";
import { wrapperPath } from "../support.ts";
import type { SshdBench } from "./sshd-bench.ts";

/** At which remote step of a submission the controller kills itself, and when. */
export interface Fatal {
  readonly step: number;
  readonly when: "before" | "during" | "after";
}

/** What became of a controller: its answer, or that it died at the step it was told. */
export type ControllerEnd = { readonly died: true } | { readonly died: false; readonly outcome: string };

/** A process that submits one job over SSH and kills itself at a remote step. The product knows nothing of this. */
export const makeController = (
  folder: string,
): ((bench: SshdBench, job: Job, attempt: AttemptContext, fatal: Fatal) => Promise<ControllerEnd>) => {
  const output = compile(folder, ["launch/ssh/launcher.ts", "launch/transport/index.ts", "core/clock.ts"]);
  const from = (path: string): string => JSON.stringify(join(output, path));
  const script = join(folder, "controller.mjs");
  writeFileSync(
    script,
    `import { readFileSync } from "node:fs";
     import { sshLauncher } from ${from("launch/ssh/launcher.js")};
     import { openTransport } from ${from("launch/transport/index.js")};
     import { systemClock } from ${from("core/clock.js")};
     import { secretsFrom } from ${from("core/secrets.js")};
     const { profile, payload, wrapper, job, attempt, fatal } = JSON.parse(readFileSync(process.argv[2], "utf8"));
     const die = () => process.kill(process.pid, "SIGKILL");
     let steps = 0;
     const mined = (transport) => ({
       ...transport,
       exec: async (argv, options) => {
         steps += 1;
         const hit = steps === fatal.step;
         if (hit && fatal.when === "before") die();
         if (hit && fatal.when === "during") setTimeout(die, 40);
         const outcome = await transport.exec(argv, options);
         if (hit) die();
         return outcome;
       },
     });
     const environment = process.env;
     const world = {
       clock: systemClock, environment, payload, wrapper: readFileSync(wrapper, "utf8"),
       secrets: secretsFrom(environment), cores: 2,
     };
     const launcher = await sshLauncher(profile, world, async (endpoint) =>
       mined(await openTransport(endpoint, profile, world)));
     const answer = await launcher.submit(launcher.plan(job, attempt));
     process.stdout.write(answer.outcome);
     await launcher.close();
     process.exit(0);`,
  );
  let requests = 0;
  return async (bench, job, attempt, fatal) => {
    const { profile, payload } = bench;
    const request = join(folder, `request-${(requests += 1)}.json`);
    writeFileSync(request, JSON.stringify({ profile, payload, wrapper: wrapperPath, job, attempt, fatal }));
    const child = spawn(process.execPath, [script, request], {
      env: { ...process.env, ...bench.world.environment },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.on("data", (data: Buffer) => {
      said += data.toString();
    });
    const signal = await new Promise((resolve) => {
      child.once("close", (_code, how) => resolve(how));
    });
    return signal === "SIGKILL" ? { died: true } : { died: false, outcome: said };
  };
};

/** Lines of a file, or none. */
export const linesOf = (path: string): readonly string[] => {
  try {
    return readFileSync(path, "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
};
