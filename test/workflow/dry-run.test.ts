import { readFileSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../src/core/hash.ts";
import { openLauncher, planText } from "../../src/launch/index.ts";
import { dryRun, followToSuccess, trainFromRecipe } from "../../src/workflow/index.ts";
import { launchWorld } from "../../src/workflow/launch-world.ts";
import { makeDataStage, packOnce, prepared } from "./data-stage.ts";

packOnce();

const RUN = "20260131-101500-first-ab12";
const PLACEHOLDER = "TOKEN-DRAWN-AT-START";

describe("dryRun", { timeout: 60_000 }, () => {
  it("prints what submit writes and starts, but for the token, and starts nothing", async () => {
    const stage = await makeDataStage();
    const shop = await stage.shop();
    const ready = await prepared(shop, RUN);
    const text = await dryRun(shop, ready.job);
    expect(await dryRun(shop, ready.job)).toBe(text);
    expect(shop.store.listRuns()).toEqual([]);
    expect(readdirSync(shop.project.state)).not.toContain("runs");

    await trainFromRecipe(shop, ready, "local");
    await followToSuccess(shop, RUN);
    const [attempt] = shop.store.attempts(RUN);
    if (attempt === undefined) throw new Error("no attempt");
    const launcher = await openLauncher(ready.job.profile, launchWorld(shop, ready.job));
    const plan = launcher.plan(ready.job, attempt);
    // Lengths and digests of the printed files depend on the token, so the plan is compared with the drawn one put back.
    const named = launcher.plan(ready.job, { ...attempt, token: PLACEHOLDER });
    expect(text).toBe(planText(named));
    expect(named.files.map((file) => file.text.replaceAll(PLACEHOLDER, attempt.token))).toEqual(
      plan.files.map((file) => file.text),
    );
    for (const file of plan.files) {
      expect(readFileSync(file.path, "utf8")).toBe(file.text);
      expect(statSync(file.path).mode & 0o777).toBe(file.mode);
    }
    const wrapper = readFileSync(join(plan.cwd, "wrapper.sh"));
    expect(text).toContain(sha256(wrapper));
    expect(text).not.toContain(attempt.token);
  });
});
