import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { projectAt, type Project } from "../../src/core/project.ts";
import { removeFolder } from "./remove-folder.ts";

export interface TemporaryProject extends Project {
  /** Writes a file below the root and returns its absolute path. */
  write(path: string, text: string): Promise<string>;
}

/** An empty project in a folder of its own, removed when the running test has finished. */
export const temporaryProject = async (): Promise<TemporaryProject> => {
  const root = await makeProject();
  onTestFinished(() => removeFolder(root));
  return {
    ...projectAt(root),
    write: async (path, text) => {
      const file = join(root, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
      return file;
    },
  };
};

/** The root of an empty project that lives until the caller removes it: for suites that share one. */
export const makeProject = async (): Promise<string> => {
  const root = await mkdtemp(join(tmpdir(), "understudy-"));
  for (const folder of ["recipes", "launchers", "datasets", "checkpoints"]) await mkdir(join(root, folder));
  return root;
};
