// Runs a benchmark of this folder as plain JavaScript, as the program itself is run: a compiler in the same process would count.
// Usage: node bench/compiled.js watch [its arguments]
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { tmpdir } from "node:os";

const root = resolve(import.meta.dirname, "..");
const [name = "watch", ...words] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "understudy-bench-"));
const run = (args) => {
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exitCode = 1;
  return status === 0;
};
try {
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  copyFileSync(join(root, "package.json"), join(folder, "package.json"));
  const options = "--ignoreConfig --module nodenext --target es2023 --skipLibCheck --types node";
  const compiled = run([
    join(root, "node_modules/typescript/bin/tsc"),
    join(root, "bench", `${name}.ts`),
    join(root, "src", "audio", "speex-resampler.d.ts"),
    ...options.split(" "),
    "--rewriteRelativeImportExtensions",
    "--rootDir",
    root,
    "--outDir",
    folder,
  ]);
  if (compiled) run([join(folder, "bench", `${name}.js`), ...words]);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
