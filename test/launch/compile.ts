import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");

/** Compiles some of src into a folder, for tests that need a second Node process; returns the folder of the output. */
export const compile = (folder: string, entries: readonly string[]): string => {
  const output = join(folder, "compiled");
  mkdirSync(output, { recursive: true });
  writeFileSync(join(output, "package.json"), '{"type":"module"}');
  symlinkSync(join(root, "node_modules"), join(output, "node_modules"));
  const config = {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      noCheck: true,
      rootDir: join(root, "src"),
      outDir: output,
      typeRoots: [join(root, "node_modules/@types")],
    },
    include: [],
    files: entries.map((entry) => join(root, "src", entry)),
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  execFileSync(join(root, "node_modules/.bin/tsc"), ["-p", join(folder, "tsconfig.json")]);
  return output;
};
