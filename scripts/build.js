// Compiles src/ to dist/, a module for each source, and joins what every command needs to the few files of dist/program/:
// loading six hundred modules took longer than most commands (docs/decisions/program.md).
// Usage: npm run build (or node scripts/build.js FOLDER, for another folder than dist/ that finds node_modules)
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, isAbsolute, join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const compiled = resolve(process.argv[2] ?? join(root, "dist"));

// Plain modules that are loaded on the way to most commands. All others stay packages: some hold machine code or find
// files beside themselves, and the large ones (AWS, charts) are loaded by the few commands that need them.
const PACKAGES = Object.keys(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).dependencies);
const JOINED = ["@stdlib", "csv-parse", "execa", "fzstd", "hyparquet", "hyparquet-writer", "yaml", "zod"];

const LONGEST_RUN = 7 * 24 * 3600_000;

const isRelative = (id) => id.startsWith(".") || isAbsolute(id);
const isOf = (id, names) => names.some((name) => id === name || id.startsWith(`${name}/`));
const isOurs = (importer) => importer === undefined || importer.startsWith(compiled + sep);
// What a joined package brings with it is joined too, and so are the helpers of the program that joins.
const isKept = (id, importer) =>
  !isRelative(id) && isOurs(importer) && isOf(id, PACKAGES) && !isOf(id, JOINED);

const program = join(compiled, "program");
if (process.argv[2] !== undefined && existsSync(compiled) && !existsSync(program)) {
  console.error(`error: ${compiled} is there already, and no build of this program: nothing is deleted`);
  process.exit(2);
}
// A source that is gone must not live on as its old output. Joined files stay a while: a watch of many hours may yet load
// one, and their names change with what is in them.
for (const name of existsSync(compiled) ? readdirSync(compiled) : [])
  if (name !== "program") rmSync(join(compiled, name), { recursive: true });
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
const { status } = spawnSync(
  process.execPath,
  [compiler, "-p", "tsconfig.build.json", "--outDir", compiled],
  {
    cwd: root,
    stdio: "inherit",
  },
);
if (status === 0) await joinModules();
else process.exitCode = status ?? 1;

async function joinModules() {
  const bundle = await rolldown({
    input: {
      main: join(compiled, "main.js"),
      // Started by its name, from beside whoever starts it.
      worker: join(compiled, "dataset", "pack", "worker.js"),
    },
    platform: "node",
    transform: { target: "node20" },
    // Nothing of ours does anything by being loaded, so that a command need not load what it does not use.
    treeshake: { moduleSideEffects: (id) => (id.startsWith(compiled + sep) ? false : undefined) },
    external: (id, importer) => isBuiltin(id) || isKept(id, importer),
    onLog: (level, { message }) => {
      if (level !== "info" && level !== "debug") throw new Error(message);
    },
  });
  await bundle.write({
    dir: program,
    format: "esm",
    entryFileNames: "[name].js",
    sourcemap: true,
  });
  await bundle.close();
  for (const name of readdirSync(program))
    if (Date.now() - statSync(join(program, name)).mtimeMs > LONGEST_RUN)
      rmSync(join(program, name), { recursive: true });
}
