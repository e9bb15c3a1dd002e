import { resolve } from "node:path";
import { expect, it } from "vitest";
import { packDataset, type Split } from "../../src/dataset/index.ts";
import { projectWith } from "./corpus.ts";
import { judgeWith, ownRows, runPython, storesFlac } from "./judging.ts";
import { oldDatasetsSuite } from "./old-datasets.ts";

oldDatasetsSuite("Python's datasets 3, which knows no List", (python) => {
  it.each(["wav", "flac"])(
    "reads every field and clip of shards with the compat footer, clips %s",
    async (codec) => {
      const project = await projectWith((corpus) => {
        corpus.spec["shards"] = { shardBytes: 12_000, rowGroupBytes: 4_000, footer: "compat" };
        corpus.spec["audio"] = { codec };
      });
      await packDataset({ project, name: "small" });
      expect(await storesFlac(project, "small")).toBe(codec === "flac");
      const { version } = await judgeWith(python, project, { name: "small" });
      expect(version).toBe("3.6.0");
    },
    120_000,
  );

  it("cannot read the list footer, which is why there are two", async () => {
    const project = await projectWith();
    await packDataset({ project, name: "small" });
    const split: Split = "test";
    const paths = (await ownRows(project, "small")).get(split)?.paths ?? [];
    const script = resolve(import.meta.dirname, "judge.py");
    const words = [script, "--features", "cache", `${split}=${paths.join(",")}`];
    const { exitCode, stderr } = await runPython(python, project.root, words);
    expect(exitCode).not.toBe(0);
    expect(stderr).toContain("Feature type 'List' not found");
  }, 120_000);
});
