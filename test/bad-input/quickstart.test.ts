import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runUnderstudy, type RunOutcome } from "../support/run-understudy.ts";
import { makeDataStage, packOnce } from "../workflow/data-stage.ts";
import { until, type Stage } from "../workflow/support.ts";
import { refusal } from "./support.ts";

packOnce();

const quickstart = ({ project, environment }: Stage, signal?: AbortSignal): Promise<RunOutcome> =>
  runUnderstudy(["quickstart"], { cwd: project.root, environment, ...(signal && { signal }) });

const journalOf = ({ project }: Stage): string => join(project.state, "quickstart", "journal.json");

// Few steps: the stand-in takes a step at once, but writes a checkpoint for each evaluation.
const shorten = ({ project }: Stage): void => {
  const path = join(project.recipes, "quickstart.yaml");
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace(/steps: \d+/, "steps: 4").replace(/everySteps: \d+/, "everySteps: 2"));
};

describe("quickstart", { timeout: 180_000 }, () => {
  it("refuses a second one while one is running, which goes on", async () => {
    const stage = await makeDataStage();
    shorten(stage);
    stage.behave({ train: { waitAt: 2 } });
    const first = quickstart(stage);
    await until(() => (stage.log("steps.log").length > 0 ? true : undefined));
    const text = await refusal(["quickstart"], {
      cwd: stage.project.root,
      environment: stage.environment,
      exitCode: 2,
    });
    expect(text).toBe(
      `error: A quickstart is running already (process ${process.pid})\n` +
        "hint: wait for it, or stop it with Ctrl-C in its terminal\n",
    );
    stage.go();
    const outcome = await first;
    expect(outcome).toMatchObject({ exitCode: 0 });
    expect(outcome.stdout).toContain("\nreport: ");
    expect(stage.log("repeated.log")).toEqual([]);
  });

  it.each([
    ["cut off", '{"schemaVersion": 1, "run'],
    ["of another version", '{"schemaVersion": 2, "runId": "x", "status": "open"}'],
    ["empty", ""],
  ])("says what to do about a journal that is %s, and touches nothing", async (_, journal) => {
    const stage = await makeDataStage();
    shorten(stage);
    mkdirSync(join(stage.project.state, "quickstart"));
    writeFileSync(journalOf(stage), journal);
    const outcome = await quickstart(stage);
    expect(outcome.exitCode).toBe(2);
    expect(outcome.stderr).toContain(`error: ${journalOf(stage)} is not `);
    expect(outcome.stderr).toContain("\nhint: ");
    expect(readFileSync(journalOf(stage), "utf8")).toBe(journal);
  });

  it("does not guess whose a lock ticket is that cannot be read", async () => {
    const stage = await makeDataStage();
    const ticket = join(stage.project.state, "quickstart", "lock", "1-abc.ticket");
    mkdirSync(join(ticket, ".."), { recursive: true });
    writeFileSync(ticket, "\u0000\u0000");
    const text = await refusal(["quickstart"], {
      cwd: stage.project.root,
      environment: stage.environment,
      exitCode: 2,
    });
    expect(text).toContain(`error: ${ticket} cannot be read`);
    expect(text).toContain("hint: delete it when nothing of this program is running in this project");
  });
});
