import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { launcherContract } from "../../contract/launcher.ts";
import { realSuite } from "../../support/real-suite.ts";
import { sshdBench } from "./sshd-bench.ts";

const secretValue = "s3cret-of-the-test, $HOME \"q\" 'x'\nline";

for (const transport of ["ssh2", "openssh"] as const) {
  realSuite(`jobs over SSH with ${transport}`, { programs: ["sshd", "ssh", "setsid"], root: true }, () => {
    launcherContract(`ssh over ${transport}`, async () => {
      const environment = { ...process.env, TEST_SECRET: secretValue, TEST_STRAY: "leaked" };
      const bench = await sshdBench({ transport, environment });
      return {
        launcher: bench.launcher,
        job: bench.job,
        secretValue,
        touch: async ({ runFolder }, name) => {
          writeFileSync(join(runFolder, name), "");
        },
        close: async () => bench.remove(),
      };
    });
  });
}
