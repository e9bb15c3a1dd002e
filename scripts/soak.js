// `npm run soak`: what is too long or too large for the tests, see bench/soak.ts for what and for its arguments.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { prepare, requireNode, root } from "./install.js";

requireNode();
await prepare();
const { status } = spawnSync(
  process.execPath,
  [join(root, "bench", "compiled.js"), "soak", ...process.argv.slice(2)],
  { cwd: root, stdio: "inherit" },
);
process.exitCode = status ?? 1;
