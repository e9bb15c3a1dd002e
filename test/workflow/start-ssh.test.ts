import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FAR_USER } from "../real/sshd/sshd.ts";
import { realSuite } from "../support/real-suite.ts";
import { packOnce } from "./data-stage.ts";
import { makeFar } from "./far-ssh.ts";
import { run, TINY } from "./start-support.ts";

packOnce();

const NEEDS = { programs: ["sshd", "ssh-keygen"], root: true };

realSuite("run start --on a machine over SSH", NEEDS, () => {
  it(
    "sends what is missing, trains there and says where; a second run sends nothing",
    { timeout: 240_000 },
    async () => {
      const { stage, folder } = await makeFar();
      const doctor = await run(stage, ["doctor", "--on", "far"]);
      expect({
        exitCode: doctor.exitCode,
        stderr: doctor.stderr,
        failed: /FAILED.*/.exec(doctor.stdout)?.[0],
      }).toEqual({
        exitCode: 0,
        stderr: "",
        failed: undefined,
      });

      const first = await run(stage, [...TINY, "--on", "far", "-f", "--json"]);
      expect(first.stdout).toContain('"state": "succeeded"');
      const { run: made }: { run: { id: string } } = JSON.parse(first.stdout);
      expect(readdirSync(join(folder, "runs"))).toEqual([made.id]);
      expect(readdirSync(join(folder, "data/shards"))).toHaveLength(2);
      expect(existsSync(join(folder, "runs", made.id, "output/checkpoint-4/_COMPLETE.json"))).toBe(true);
      const manifest: { data: { train: string[] }; model: { path: string }; device: string } = JSON.parse(
        readFileSync(join(folder, "runs", made.id, "attempts/1/job.json"), "utf8"),
      );
      for (const path of [...manifest.data.train, manifest.model.path]) expect(existsSync(path)).toBe(true);
      expect(manifest.device).toBe("cpu");
      // Nothing of a far path was made on this side: it is the same disk, but another user's.
      expect(execFileSync("stat", ["-c", "%U", join(folder, "runs", made.id)], { encoding: "utf8" })).toBe(
        `${FAR_USER}\n`,
      );

      const times = (): string =>
        execFileSync(
          "find",
          [join(folder, "data"), join(folder, "models"), "-type", "f", "-printf", "%p %T@\\n"],
          { encoding: "utf8" },
        );
      const before = times();
      const second = await run(stage, [...TINY, "--on", "far", "-f", "--json"]);
      expect(second.stdout).toContain('"state": "succeeded"');
      expect(times()).toBe(before);
    },
  );
});
