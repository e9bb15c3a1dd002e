import { appendFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LAB_PROGRAMS } from "../real/slurm/lab.ts";
import { realSuite } from "../support/real-suite.ts";
import { packOnce } from "./data-stage.ts";
import { makeCluster } from "./far-slurm.ts";
import { run, TINY } from "./start-support.ts";
import { until } from "./support.ts";

packOnce();

const LINES = 20_000;
// Two megabytes at the start of each attempt, in lines that say which.
const NOISE = `
import os, sys
if "train" in sys.argv:
    for number in range(${LINES}):
        print("noise", os.environ["UNDERSTUDY_JOB"].split(".")[0][-2:], number, "x" * 90)
    sys.stdout.flush()
`;

realSuite("the log of a run on a Slurm cluster", { programs: LAB_PROGRAMS, root: true }, () => {
  it("is followed over a requeue: each line once, in order", { timeout: 300_000 }, async () => {
    const { stage, lab, folder } = await makeCluster();
    appendFileSync(join(stage.project.launchers, "payload/understudy_payload/__init__.py"), NOISE);
    const behaviour = join(folder, "stand-in/behaviour.json");
    writeFileSync(behaviour, JSON.stringify({ train: { waitAt: 3 } }));
    const started = await run(stage, [...TINY, "--on", "cluster", "--json"]);
    expect({ exitCode: started.exitCode, stderr: started.stderr }).toMatchObject({ exitCode: 0 });
    const { run: made }: { run: { id: string } } = JSON.parse(started.stdout);
    const following = run(stage, ["run", "logs", made.id, "--follow"]);
    const far = join(folder, "runs", made.id);
    await until(() => existsSync(join(far, "output/checkpoint-2/_COMPLETE.json")) || undefined);
    writeFileSync(behaviour, "{}");
    const [id = ""] = lab.run(["squeue", "-h", "-t", "RUNNING", "-o", "%i"]).trim().split("\n");
    lab.run(["scontrol", "requeue", id]);
    const followed = await following;
    expect({ exitCode: followed.exitCode, stderr: followed.stderr }).toMatchObject({ exitCode: 0 });
    const numbers = Array.from({ length: LINES }, (_, number) => String(number));
    for (const attempt of ["a1", "a2"]) {
      const said = [...followed.stdout.matchAll(new RegExp(`^noise ${attempt} (\\d+) x{90}$`, "gm"))];
      expect(said.map(([, number]) => number)).toEqual(numbers);
    }
    expect(followed.stdout.match(/^.*--- attempt.*$/gm)).toEqual([
      expect.stringMatching(/^--- attempt 2, after attempt 1: .* ---$/),
    ]);
    // Who comes later reads the same.
    const later = (await run(stage, ["run", "logs", made.id])).stdout;
    expect(followed.stdout.slice(0, later.length)).toBe(later);
    expect(followed.stdout.slice(later.length)).toMatch(/^run \S+ is succeeded: .*\n$/);
  });
});
