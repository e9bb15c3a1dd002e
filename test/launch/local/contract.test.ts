import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { launcherContract } from "../../contract/launcher.ts";
import { bench, temporaryFolder } from "../support.ts";

launcherContract("local", async () => {
  const folder = temporaryFolder();
  const secretValue = "s3cret-of-the-test, $HOME \"q\" 'x'\nline";
  const { launcher, job } = await bench(
    folder.path,
    {},
    { ...process.env, TEST_SECRET: secretValue, TEST_STRAY: "leaked" },
  );
  return {
    launcher,
    job,
    secretValue,
    touch: async ({ runFolder }, name) => {
      writeFileSync(join(runFolder, name), "");
    },
    close: async () => folder.remove(),
  };
});
