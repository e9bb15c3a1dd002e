import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { runUnderstudy } from "../support/run-understudy.ts";
import { makeDataStage, packOnce } from "../workflow/data-stage.ts";
import { refusal } from "./support.ts";
import { removeFolder } from "../support/remove-folder.ts";

packOnce();

const Started = z.object({ run: z.object({ id: z.string() }) });

describe("checkpoint verify", { timeout: 60_000 }, () => {
  it("names what changed, says when it is gone, and knows the steps there are", async () => {
    const { project, environment } = await makeDataStage();
    const options = { cwd: project.root, environment };
    const set = ["training.duration.steps=4", "evaluation.everySteps=2"].flatMap((text) => ["--set", text]);
    const words = ["run", "start", "recipes/quickstart.yaml", ...set, "-f", "--json"];
    const started = await runUnderstudy(words, options);
    const { id } = Started.parse(JSON.parse(started.stdout)).run;
    expect(await runUnderstudy(["checkpoint", "verify", `${id}@2`], options)).toMatchObject({ exitCode: 0 });
    const refused = (checkpoint: string): Promise<string> =>
      refusal(["checkpoint", "verify", checkpoint], { ...options, exitCode: 2 });
    const folder = join(project.state, "runs", id, "output", "checkpoint-2");
    appendFileSync(join(folder, "model.safetensors"), "x");
    expect(await refused(`${id}@2`)).toMatch(
      /is not what was written:\n {2}model\.safetensors: \d+ bytes instead/,
    );
    removeFolder(folder);
    expect(await refused(`${id}@2`)).toContain(`error: ${id}@2 is no longer complete: its folder is gone`);
    expect(await refused(`${id}@3`)).toContain(
      `error: There is no checkpoint ${id}@3\nhint: run ${id} has steps 2, 4\n`,
    );
  });
});
