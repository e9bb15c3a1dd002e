import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { markerOf, type Job, type Plan } from "../../../src/launch/index.ts";
import { commandsBench, type CommandsBench } from "./commands-bench.ts";

const CONFIG = `printf 'AccountingStorageType = accounting_storage/none\\nMinJobAge = 300 sec\\n'`;
const bench = async (): Promise<CommandsBench> =>
  commandsBench({ programs: { sbatch: "echo 4799", scontrol: CONFIG } });

/** What another chain has left that has begun this attempt. */
const begunElsewhere = (job: Job, number: number, owner = "4712"): void => {
  const claim = join(job.runFolder, "claims", markerOf(job.runId, number));
  mkdirSync(claim, { recursive: true });
  writeFileSync(join(claim, "owner"), `${owner}\n`);
};
/** Calls of sbatch that submit something. */
const submissions = (commands: CommandsBench): readonly (readonly string[])[] =>
  commands.calls("sbatch").filter((words) => words.includes("--parsable"));
const planOf = (commands: CommandsBench, job: Job, number: number): Plan =>
  commands.plan(job, { number, marker: markerOf(job.runId, number), token: `token-${number}` });

describe("a number that the far side has given out", () => {
  it("is not given again: the answer says up to where, and the one after it is accepted", async () => {
    const commands = await bench();
    const job = commands.job();
    mkdirSync(job.runFolder, { recursive: true });
    writeFileSync(join(job.runFolder, "fence"), "T.2\n");
    begunElsewhere(job, 2);
    const answer = await commands.launcher.submit(planOf(commands, job, 2));
    expect(answer).toMatchObject({ outcome: "rejected", taken: 2, hint: expect.stringContaining("resume") });
    expect(answer).not.toHaveProperty("retry");
    begunElsewhere(job, 4);
    expect(await commands.launcher.submit(planOf(commands, job, 3))).toMatchObject({ taken: 4 });
    // Nothing was sent, and nobody is locked out.
    expect(submissions(commands)).toEqual([]);
    expect(existsSync(join(job.runFolder, "attempts"))).toBe(false);
    expect(readFileSync(join(job.runFolder, "fence"), "utf8")).toBe("T.2\n");
    expect(await commands.launcher.submit(planOf(commands, job, 5))).toMatchObject({ outcome: "accepted" });
    expect(submissions(commands)).toHaveLength(1);
  });

  it("to a job of this very submission is its own", async () => {
    const commands = await bench();
    const job = commands.job();
    const plan = planOf(commands, job, 2);
    expect(await commands.launcher.submit(plan)).toMatchObject({ outcome: "accepted" });
    begunElsewhere(job, 2, "4799");
    mkdirSync(join(job.runFolder, "claims", `${plan.attempt.marker}.link-1`));
    writeFileSync(join(job.runFolder, "claims", `${plan.attempt.marker}.link-1/owner`), "4799\n");
    expect(await commands.launcher.submit(plan)).toMatchObject({ outcome: "ambiguous" });
    expect(await commands.launcher.find(plan)).toMatchObject({
      outcome: "found",
      refs: [{ jobs: [{ id: "4799", link: 1 }], token: "token-2" }],
    });
    // One that has gone on from there is not overtaken by itself either.
    begunElsewhere(job, 3, "4799");
    const late = await commands.launcher.submit(plan);
    expect(late).toMatchObject({ outcome: "rejected" });
    expect(late).not.toHaveProperty("taken");
    expect(submissions(commands)).toHaveLength(1);
  });

  it("does not count for another run, nor a claim of a link", async () => {
    const commands = await bench();
    const job = commands.job();
    for (const name of ["us-run-1-a7.link-2", "us-run-12-a9", ".us-run-1-a8", "us-run-1-a8.tmp"]) {
      mkdirSync(join(job.runFolder, "claims", name), { recursive: true });
    }
    expect(await commands.launcher.submit(planOf(commands, job, 2))).toMatchObject({ outcome: "accepted" });
  });
});
