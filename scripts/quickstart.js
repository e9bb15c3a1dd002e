// `npm run quickstart`: packages, build, then the real command.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { prepare, requireNode, root } from "./install.js";

requireNode();
await prepare();
const child = spawn(
  process.execPath,
  [join(root, "bin", "understudy.js"), "quickstart", ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: "inherit",
  },
);
// The terminal sends Ctrl-C to the child too; staying alive here lets it finish its last words.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
  process.on(signal, () => signal !== "SIGINT" && child.kill(signal));
child.on("exit", (code, signal) => {
  process.exitCode = code ?? (signal === "SIGINT" ? 130 : 1);
});
