import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packOnce } from "../../workflow/data-stage.ts";
import { until } from "../../workflow/support.ts";
import { dyingProgram } from "../../real/aws/dying.ts";
import { awsSuite } from "../../real/aws/moto.ts";
import { makeAwsStage, START } from "../../real/aws/stage.ts";

packOnce();

// Without the notes that come between.
const spoken = (text: string): readonly string[] =>
  text.split("\n").filter((line) => /^(attempt|---) /.test(line));

awsSuite("run logs of a run of SageMaker", (python) => {
  it(
    "gives every line once in each process, over a kill -9, lost replies and a spot restart",
    { timeout: 300_000 },
    async () => {
      const { stage, service, environment, done } = await makeAwsStage(
        python,
        "spot: { maxWaitSeconds: 200000 }\n",
      );
      stage.behave({ train: { waitAt: 2 } });
      const program = dyingProgram(mkdtempSync(join(stage.project.root, "program-")));
      const logs = async (
        words: readonly string[],
        fatal: Parameters<typeof program>[1] = null,
      ): ReturnType<typeof program> =>
        program(["run", "logs", id, ...words], fatal, { cwd: stage.project.root, environment });
      const started = await done(...START, "--on", "cloud", "--json");
      const { run: made }: { run: { id: string } } = JSON.parse(started.stdout);
      const { id } = made;
      const job = `us-${id}-a1`;
      await service.begun(job);
      await until(() => (stage.log("steps.log").length > 0 ? true : undefined));

      // Without -f: what there is by now. A lost reply in between is asked again by the next process.
      const lines = ["attempt 1 step 1"];
      await until(async () => ((await logs([])).stdout === `${lines[0]}\n` ? true : undefined));
      service.proxy.fail({ target: /GetLogEvents$/, times: 1, how: "drop-after" });
      expect(await logs([])).toMatchObject({ end: 4, stdout: "" });
      expect((await logs([])).stdout.trim().split("\n")).toEqual(lines);

      // Followed, and killed while it follows.
      const killed = await logs(["-f"], { when: "before", target: "GetLogEvents$", call: 4 });
      expect(killed).toMatchObject({ end: "SIGKILL", stdout: "attempt 1 step 1\n" });

      // The instance is taken back: step 2 is saved, and another container goes on.
      const following = logs(["-f"]);
      service.proxy.fail({ target: /GetLogEvents$/, times: 2, how: "drop-after" });
      await service.interrupt(job);
      const all = [
        "attempt 1 step 1",
        "attempt 1 step 2",
        expect.stringMatching(/^--- attempt 2, after attempt 1: /),
        "attempt 2 step 3",
        "attempt 2 step 4",
      ];
      const { end, stdout } = await following;
      expect(end).toBe(0);
      expect(spoken(stdout)).toEqual(all);
      // And once it is over, in any process, with and without -f.
      for (const words of [[], ["-f"]]) expect(spoken((await logs(words)).stdout)).toEqual(all);
    },
  );
});
