import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { realSuite } from "../support/real-suite.ts";
import { expectedTurns, packOnce } from "./data-stage.ts";
import { makeFar } from "./far-ssh.ts";
import { run, TINY } from "./start-support.ts";

packOnce();

const NEEDS = { programs: ["sshd", "ssh-keygen"], root: true };

realSuite("eval start of a run on a machine over SSH", NEEDS, () => {
  it(
    "scores and answers where the checkpoints lie, measures here, and fetches each row once",
    { timeout: 300_000 },
    async () => {
      const { stage, folder } = await makeFar();
      mkdirSync(join(folder, "home"));
      chmodSync(join(folder, "home"), 0o777);
      copyFileSync(join(stage.home, "instances.json"), join(folder, "home/instances.json"));
      const profile = join(stage.project.launchers, "far.yaml");
      appendFileSync(profile, `setup: [ "export HOME=${join(folder, "home")}" ]\n`);
      const state = stage.project.state;
      const first = await run(stage, [...TINY, "--on", "far", "-f", "--json"]);
      expect(first.stdout).toContain('"state": "succeeded"');
      const { run: made }: { run: { id: string } } = JSON.parse(first.stdout);

      const evaluated = await run(stage, ["eval", "start", made.id]);
      expect({ exitCode: evaluated.exitCode, stderr: evaluated.stderr }).toMatchObject({ exitCode: 0 });
      const folders = readdirSync(join(state, "evaluations")).filter((name) => !name.startsWith("."));
      // The last checkpoint has the lowest dev loss here: two names, one folder.
      const rows = (kind: string, file: string): number =>
        folders
          .filter((name) => name.startsWith(`${kind}-`))
          .map(
            (name) =>
              readFileSync(join(state, "evaluations", name, file), "utf8")
                .trim()
                .split("\n").length,
          )
          .reduce((sum, count) => sum + count, 0);
      expect(rows("score", "scores.jsonl")).toBe(2 * expectedTurns());
      expect(rows("infer", "answers.jsonl")).toBe(2 * expectedTurns());
      const jobs = readdirSync(join(folder, "runs")).toSorted();
      expect(jobs).toEqual([made.id, `${made.id}-infer-1`, `${made.id}-score-1`]);
      // The measures' job was of this machine.
      expect(readdirSync(join(state, "runs"))).toContain(`${made.id}-measure-1`);

      const inodes = folders.map((name) => statSync(join(state, "evaluations", name)).ino);
      const again = await run(stage, ["eval", "start", made.id]);
      expect(again.exitCode).toBe(0);
      expect(folders.map((name) => statSync(join(state, "evaluations", name)).ino)).toEqual(inodes);
      expect(readdirSync(join(folder, "runs")).toSorted()).toEqual(jobs);

      // Rows that are gone here are fetched, not made again.
      const scores = folders.filter((name) => name.startsWith("score-"));
      for (const name of scores) rmSync(join(state, "evaluations", name), { recursive: true });
      const fetched = await run(stage, ["eval", "start", made.id]);
      expect(fetched.exitCode).toBe(0);
      expect(readdirSync(join(folder, "runs")).toSorted()).toEqual(jobs);
      expect(rows("score", "scores.jsonl")).toBe(2 * expectedTurns());
    },
  );
});
