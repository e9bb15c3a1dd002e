import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { digestOf } from "../../src/core/hash.ts";
import { ResolvedRecipe } from "../../src/recipe/index.ts";
import { trainManifest } from "../../src/workflow/train-manifest.ts";
import { makeDataStage, packOnce, prepared } from "./data-stage.ts";
import { repository } from "./support.ts";

packOnce();

const RUN = "20260131-101500-first-ab12";

/** Names in the manifest's table of CONTRACT.md: `training.NAME`. */
const contractNames = (): string[] => {
  const contract = readFileSync(join(repository, "launchers/payload/CONTRACT.md"), "utf8");
  const rows = contract.split("\n").filter((line) => line.startsWith("| `training."));
  return rows
    .flatMap((line) => [...(line.split("|")[1] ?? "").matchAll(/`(?:training\.)?([A-Za-z]+)`/g)])
    .map(([, name]) => name ?? "")
    .toSorted();
};

describe("trainManifest", () => {
  it("says exactly what the contract names, with the recipe's values", { timeout: 60_000 }, async () => {
    const stage = await makeDataStage();
    const shop = await stage.shop();
    const { resolution, job } = await prepared(shop, RUN, ["training.learningRate=0.002"]);
    const { resolved } = resolution;
    const inputs = {
      model: { path: "/models/tiny", revision: "abc" },
      device: "cpu",
      train: ["/data/a.parquet"],
      dev: ["/data/d.parquet"],
    } as const;
    const before = digestOf(ResolvedRecipe.parse(resolved));
    const manifest = trainManifest(resolved, inputs);
    expect(trainManifest(resolved, inputs)).toEqual(manifest);
    expect(digestOf(ResolvedRecipe.parse(resolved))).toBe(before);
    expect(manifest).toMatchObject({
      schemaVersion: 1,
      kind: "train",
      device: "cpu",
      model: inputs.model,
      prompt: { preamble: resolved.recipe.prompt.preamble },
      data: { train: inputs.train, dev: inputs.dev },
      training: {
        learningRate: 0.002,
        steps: 4,
        evalEverySteps: 2,
        saveEverySteps: 2,
        globalBatch: resolved.recipe.training.globalBatch,
        seed: resolved.recipe.training.seed,
        lora: null,
      },
    });
    const { training } = manifest;
    expect(Object.keys(training ?? {}).toSorted()).toEqual(contractNames());
    // The job is this manifest on the packed shards.
    expect(job.manifest).toMatchObject({ run: RUN, training });
    expect(job.manifest["data"]).toMatchObject({ train: [expect.stringContaining("packed/greenroom")] });
  });
});
