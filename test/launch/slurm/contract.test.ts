import { vi } from "vitest";
import { launcherContract } from "../../contract/launcher.ts";
import { LAB_PROGRAMS, startLab } from "../../real/slurm/lab.ts";
import { realSuite } from "../../support/real-suite.ts";
import { slurmBench, type BenchSettings } from "./slurm-bench.ts";

// A scheduler takes its time.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const secretValue = "s3cret-of-the-test, $HOME \"q\" 'x'\nline";

for (const [name, settings] of [
  ["slurm, with this machine's commands,", {}],
  ["slurm, through a login node,", { login: true }],
] satisfies [string, BenchSettings][]) {
  realSuite(name, { programs: LAB_PROGRAMS, root: true }, () => {
    launcherContract(name, async () => {
      const lab = await startLab();
      const bench = await slurmBench(lab, {
        ...settings,
        environment: { TEST_SECRET: secretValue, TEST_STRAY: "leaked" },
      });
      return {
        // A job that waits ends without having run (see faults.test.ts); the suite means one that runs.
        launcher: {
          ...bench.launcher,
          cancel: async (ref, mode) => {
            await bench.seen(ref, (seen) => seen.phase !== "live" || seen.state === "running");
            return bench.launcher.cancel(ref, mode);
          },
        },
        job: (script, changes) => bench.job(script, changes),
        secretValue,
        touch: async (job, file) => bench.touch(job, file),
        close: async () => {
          await bench.launcher.close();
          await lab.close();
        },
      };
    });
  });
}
