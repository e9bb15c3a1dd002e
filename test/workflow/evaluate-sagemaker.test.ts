import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { awsSuite } from "../real/aws/moto.ts";
import { dyingProgram, type FatalCall } from "../real/aws/dying.ts";
import { BUCKET, makeAwsStage, START } from "../real/aws/stage.ts";
import { expectedTurns, packOnce } from "./data-stage.ts";

packOnce();

awsSuite("eval start of a run of SageMaker", (python) => {
  it(
    "scores and answers as training jobs of their own, measures here, and fetches each row once",
    { timeout: 300_000 },
    async () => {
      const { stage, service, done } = await makeAwsStage(
        python,
        "evaluation: { instanceType: ml.g5.xlarge }\n",
      );
      const { state } = stage.project;
      const first = await done(...START, "--on", "cloud", "-f", "--json");
      const { run: made }: { run: { id: string } } = JSON.parse(first.stdout);

      await done("eval", "start", made.id);
      const evaluations = join(state, "evaluations");
      const folders = readdirSync(evaluations).filter((name) => !name.startsWith("."));
      const rows = (kind: string, file: string): number =>
        folders
          .filter((name) => name.startsWith(`${kind}-`))
          .map(
            (name) =>
              readFileSync(join(evaluations, name, file), "utf8")
                .trim()
                .split("\n").length,
          )
          .reduce((sum, count) => sum + count, 0);
      // The last checkpoint has the lowest dev loss here: two names, one folder.
      expect(rows("score", "scores.jsonl")).toBe(2 * expectedTurns());
      expect(rows("infer", "answers.jsonl")).toBe(2 * expectedTurns());
      const jobs = [`us-${made.id}-a1`, `us-${made.id}-score-1-a1`, `us-${made.id}-infer-1-a1`];
      expect(service.jobs()).toEqual(jobs);
      // The measures' job was of this machine.
      expect(readdirSync(join(state, "runs"))).toContain(`${made.id}-measure-1`);
      const score = service.request(`us-${made.id}-score-1-a1`);
      expect(score).toMatchObject({
        ResourceConfig: { InstanceType: "ml.g5.xlarge", InstanceCount: 1 },
        CheckpointConfig: { S3Uri: `s3://${BUCKET}/understudy/runs/${made.id}-score-1/` },
      });
      expect(score.InputDataConfig?.map(({ DataSource }) => DataSource?.S3DataSource?.S3Uri)).toContain(
        `s3://${BUCKET}/understudy/runs/${made.id}/output/checkpoint-4/`,
      );

      const inodes = folders.map((name) => statSync(join(evaluations, name)).ino);
      await done("eval", "start", made.id);
      expect(folders.map((name) => statSync(join(evaluations, name)).ino)).toEqual(inodes);
      expect(service.jobs()).toEqual(jobs);

      // Rows that are gone here are fetched, not made again.
      for (const name of folders.filter((one) => one.startsWith("score-")))
        rmSync(join(evaluations, name), { recursive: true });
      await done("eval", "start", made.id);
      expect(service.jobs()).toEqual(jobs);
      expect(rows("score", "scores.jsonl")).toBe(2 * expectedTurns());

      // One that has changed in the bucket since is told, and made anew; nothing else is.
      const [changed = ""] = folders.filter((one) => one.startsWith("score-"));
      const before = readFileSync(join(evaluations, changed, "scores.jsonl"), "utf8");
      const tasks = `understudy/runs/${made.id}-score-1/tasks/${changed}`;
      await service.bucket.put(BUCKET, `${tasks}/scores.jsonl`, before.replace("nll", "nil"));
      await service.bucket.put(BUCKET, `${tasks}/../../../escaped`, "x");
      rmSync(join(evaluations, changed), { recursive: true });
      const again = await done("eval", "start", made.id);
      expect(again.stderr + again.stdout).toContain("changed after it was finished");
      expect(service.jobs()).toEqual([...jobs, `us-${made.id}-score-2-a1`]);
      expect(stage.log("tasks.log").filter((line) => line.startsWith("score "))).toHaveLength(5);
      expect(readFileSync(join(evaluations, changed, "scores.jsonl"), "utf8")).toBe(before);
    },
  );

  it("killed at any step of it, the same command goes on: each job once", { timeout: 300_000 }, async () => {
    const { stage, service, environment, done } = await makeAwsStage(python);
    const program = dyingProgram(mkdtempSync(join(stage.project.root, "program-")));
    const first = await done(...START, "--on", "cloud", "-f", "--json");
    const { run: made }: { run: { id: string } } = JSON.parse(first.stdout);
    const rows = (kind: string): string => `^GET .*runs/${made.id}-${kind}-1/tasks/`;
    const fatals: readonly FatalCall[] = [
      { when: "after", target: "CreateTrainingJob" },
      { when: "after", target: `${rows("score")}.*_DONE` },
      { when: "after", target: rows("score"), call: 9 },
      { when: "after", target: "CreateTrainingJob" },
    ];
    for (const fatal of fatals) {
      const killed = await program(["eval", "start", made.id], fatal, {
        cwd: stage.project.root,
        environment,
      });
      expect(killed).toMatchObject({ end: "SIGKILL" });
    }
    await done("eval", "start", made.id);
    expect(service.jobs()).toEqual([
      `us-${made.id}-a1`,
      `us-${made.id}-score-1-a1`,
      `us-${made.id}-infer-1-a1`,
    ]);
    const tasks = stage.log("tasks.log").map((line) => line.replace(/^(\w+) .*\//, "$1 "));
    expect(tasks).toHaveLength(12);
    expect(new Set(tasks).size).toBe(12);
  });
});
