import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Project } from "../../../src/core/project.ts";
import { loadSpec, packDataset, packedFolder } from "../../../src/dataset/index.ts";
import { fetchSource, type DownloadRepository } from "../../../src/dataset/source/hub-source.ts";
import { projectWith } from "../corpus.ts";
import { openGiven, projectOf, put, readAll } from "./support.ts";

const SOURCE = { format: "hub", repo: "someone/dialogues", revision: "main", path: undefined };
const COMMIT = "c".repeat(40);

/** A repository with the packed shards of a small corpus, and downloads of it at a commit. */
const repository = async (): Promise<{
  readonly project: Project;
  readonly files: Map<string, Uint8Array>;
  readonly at: (commit: string) => DownloadRepository;
}> => {
  const from = await projectWith();
  await packDataset({ project: from, name: "small" });
  const files = new Map<string, Uint8Array>();
  const shards = join(packedFolder(from, "small"), "data");
  for (const name of await readdir(shards)) files.set(`data/${name}`, await readFile(join(shards, name)));
  files.set("roles.json", await readFile(join(from.datasets, "small", "roles.json")));
  files.set("README.md", Buffer.from("# not wanted"));
  const at =
    (revision: string): DownloadRepository =>
    async ({ repo, folder, include }) => {
      expect(repo).toBe("someone/dialogues");
      const wanted = [...files].filter(([path]) => include(path));
      for (const [path, bytes] of wanted) await put(join(folder, path), bytes);
      return { revision, files: wanted.map(([path, bytes]) => ({ path, bytes: bytes.length })) };
    };
  return { project: await projectOf(SOURCE), files, at };
};

describe("a repository on the Hub as a source", () => {
  it("is fetched first, and packed under the commit that it stood at", async () => {
    const { project, at } = await repository();
    const loaded = await loadSpec(project, "given");
    await expect(openGiven(project)).rejects.toMatchObject({ code: "SOURCE_NOT_FETCHED" });
    await fetchSource(loaded, at(COMMIT));
    expect(await readdir(loaded.sourceFolder)).toEqual(["data", "fetched.json", "roles.json"]);
    const source = await openGiven(project);
    expect(source.revision).toBe(COMMIT);
    expect((await readAll(source)).found).toHaveLength(30);
    const { lock } = await packDataset({ project, name: "given", allow: { held_out_roles: "a test" } });
    expect(lock.sourceRevision).toBe(COMMIT);
    expect((await packDataset({ project, name: "given", allow: { held_out_roles: "a test" } })).reused).toBe(
      true,
    );
  });

  it("gives way to a later commit, which is another source", async () => {
    const { project, files, at } = await repository();
    const loaded = await loadSpec(project, "given");
    await fetchSource(loaded, at(COMMIT));
    const [first = ""] = files.keys();
    files.delete(first);
    await fetchSource(loaded, at("d".repeat(40)));
    const source = await openGiven(project);
    expect(source.revision).toBe("d".repeat(40));
    expect(source.units.map((unit) => unit.replace(/#.*/, ""))).not.toContain(first);
    expect(await readdir(join(loaded.sourceFolder, "data"))).not.toContain(first.replace("data/", ""));
  });

  it("that was fetched for another revision, or lost a file, has to be fetched again", async () => {
    const { project, files, at } = await repository();
    const loaded = await loadSpec(project, "given");
    await fetchSource(loaded, at(COMMIT));
    const [first = ""] = files.keys();
    await rm(join(loaded.sourceFolder, first));
    await expect(openGiven(project)).rejects.toMatchObject({
      code: "SOURCE_NOT_FETCHED",
      message: `${first} of someone/dialogues is not there any more`,
    });
    await fetchSource(loaded, at(COMMIT));
    const spec = await readFile(loaded.file, "utf8");
    await writeFile(loaded.file, spec.replace('"main"', '"v2"'));
    await expect(openGiven(project)).rejects.toMatchObject({
      code: "SOURCE_NOT_FETCHED",
      message: "someone/dialogues at v2 has not been fetched from the Hub",
    });
  });

  it("is not asked for by any other source", async () => {
    const project = await projectOf({ format: "parquet" });
    await fetchSource(await loadSpec(project, "given"), async () => {
      throw new Error("not asked for");
    });
  });
});
