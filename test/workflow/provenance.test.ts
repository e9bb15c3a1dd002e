import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runProgram } from "../../src/core/process.ts";
import { lockDigest, readLock } from "../../src/dataset/index.ts";
import { sha256 } from "../../src/core/hash.ts";
import { provenanceOf } from "../../src/workflow/provenance.ts";
import { makeDataStage, packOnce, trained } from "./data-stage.ts";
import type { Stage } from "./support.ts";

packOnce();

const RUN = "20260131-101500-first-ab12";

const git = async (stage: Stage, ...args: string[]): Promise<string> => {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
  const { stdout, exitCode, stderr } = await runProgram(
    ["git", "-C", stage.project.root, ...identity, ...args],
    { env: process.env },
  );
  if (exitCode !== 0) throw new Error(stderr);
  return stdout.trim();
};

describe("provenanceOf", { timeout: 60_000 }, () => {
  it("names digests, commit, kept changes, settings, versions and attempts", async () => {
    const stage = await makeDataStage();
    await git(stage, "init", "-q");
    await git(stage, "add", "recipes");
    await git(stage, "commit", "-qm", "first");
    const commit = await git(stage, "rev-parse", "HEAD");
    const recipe = join(stage.project.recipes, "quickstart.yaml");
    appendFileSync(recipe, "# not committed\n");
    stage.behave({ train: { killAt: 3 } });
    const shop = await stage.shop();
    await trained(shop, RUN, ["training.learningRate=0.002"]);
    const run = shop.store.getRun(RUN);
    const lock = await readLock(shop.project, "greenroom");
    const facts = provenanceOf(shop, run, lock);
    const fact = (name: string): string | undefined => facts.find((one) => one.name === name)?.value;
    expect(fact("run")).toBe(RUN);
    expect(fact("attempts")).toBe("1: killed, 2: succeeded");
    expect(fact("profile")).toBe("local (local)");
    expect(fact("git commit")).toBe(`${commit} + uncommitted changes (kept)`);
    expect(fact("lock digest")).toBe(lockDigest(lock));
    expect(fact("recipe digest")).toBe(run.recipeDigest);
    expect(fact("training.learningRate")).toBe("0.002");
    expect(fact("training.duration.steps")).toBe("4");
    expect(fact("python")).toBe("3");
    // What was not committed is kept, byte for byte.
    const patch = readFileSync(join(stage.project.state, "runs", RUN, "uncommitted.patch"), "utf8");
    expect(patch).toContain("+# not committed");
    expect(JSON.stringify(run.lock)).toContain(sha256(patch));
  });
});
