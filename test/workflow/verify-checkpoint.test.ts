import {
  appendFileSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { advanceRun } from "../../src/workflow/advance.ts";
import { startRun } from "../../src/workflow/runs.ts";
import { verifyCheckpointOf } from "../../src/workflow/verify-checkpoint.ts";
import { realSuite } from "../support/real-suite.ts";
import { makeDataStage, packOnce, prepared } from "./data-stage.ts";
import { makeFar } from "./far-ssh.ts";
import { save, say, scriptedStage } from "./scripted.ts";
import { run, TINY } from "./start-support.ts";
import { removeFolder } from "../support/remove-folder.ts";

packOnce();

realSuite("checkpoint verify over SSH", { programs: ["sshd", "ssh-keygen"], root: true }, () => {
  it(
    "hashes there, tells half gone from changed and from purged, and says when nobody answers",
    { timeout: 240_000 },
    async () => {
      const { stage, folder } = await makeFar();
      appendFileSync(join(stage.project.launchers, "far.yaml"), "purgeDays: 30\n");
      const started = await run(stage, [...TINY, "--on", "far", "-f", "--json"]);
      expect(started.stdout).toContain('"state": "succeeded"');
      const { run: made }: { run: { id: string } } = JSON.parse(started.stdout);
      const id = `${made.id}@2`;
      const place = join(folder, "runs", made.id, "output/checkpoint-2");
      const verify = (): ReturnType<typeof run> => run(stage, ["checkpoint", "verify", id]);

      const sound = await run(stage, ["checkpoint", "verify", id, "--json"]);
      expect(sound.exitCode, sound.stderr).toBe(0);
      expect(JSON.parse(sound.stdout)).toMatchObject({ id, sound: true, digests: true });

      const weights = join(place, "model.safetensors");
      const bytes = readFileSync(weights);
      const changed = Buffer.from(bytes);
      changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
      writeFileSync(weights, changed);
      expect(await verify()).toMatchObject({
        exitCode: 2,
        stderr: expect.stringMatching(/model\.safetensors: its content changed \(SHA-256 differs\)/),
      });
      truncateSync(weights, statSync(weights).size - 1);
      expect((await verify()).stderr).toMatch(
        /is not what was written:\n {2}model\.safetensors: \d+ bytes instead/,
      );
      writeFileSync(weights, bytes);
      rmSync(join(place, "_COMPLETE.json"));
      expect((await verify()).stderr).toContain("_COMPLETE.json: missing");
      removeFolder(place);
      expect(await verify()).toMatchObject({
        exitCode: 2,
        stderr: expect.stringMatching(
          /is no longer complete: none of its \d+ files is in ssh:\/\/.*checkpoint-2 \(the site deletes files after 30 days\)/,
        ),
      });
      rmSync(join(folder, "known_hosts"));
      // Nothing is said of a checkpoint that cannot be looked at.
      expect(await verify()).toMatchObject({ exitCode: 4 });
    },
  );
});

const RUN = "20260131-101500-far-ab12";

describe("checkpoint verify on a cluster", { timeout: 60_000 }, () => {
  it("compares sizes, hashes nothing on the login node, and says which job would", async () => {
    const stage = await scriptedStage();
    const { far, project } = stage;
    const here = await makeDataStage();
    const shop = stage.shop();
    await startRun(shop, stage.job(RUN, { training: await prepared(await here.shop(), RUN) }));
    say(far, RUN, { attempt: 1, type: "started", host: "n1" });
    save(far, RUN, 2);
    await advanceRun(shop, RUN);
    const hashed = far.asked.digests.length;
    const list = join(project.state, "manifests", RUN, "2.sha256");
    await expect(verifyCheckpointOf(shop, `${RUN}@2`)).rejects.toMatchObject({
      code: "VERIFY_NEEDS_JOB",
      hint: `ssh trainer@login1 'srun --ntasks=1 --chdir=/far/runs/${RUN}/output/checkpoint-2 sha256sum --check --quiet -' < ${list}`,
    });
    expect(far.asked.digests).toHaveLength(hashed);
    expect(readFileSync(list, "utf8")).toMatch(/^[0-9a-f]{64} {2}model\.safetensors\n$/);

    const key = `${RUN}/output/checkpoint-2/model.safetensors`;
    far.files.set(key, Buffer.concat([far.files.get(key) ?? Buffer.alloc(0), Buffer.from("x")]));
    await expect(verifyCheckpointOf(shop, `${RUN}@2`)).rejects.toMatchObject({ code: "CHECKPOINT_CHANGED" });
    for (const file of far.files.keys()) if (file.includes("checkpoint-2")) far.files.delete(file);
    await expect(verifyCheckpointOf(shop, `${RUN}@2`)).rejects.toMatchObject({ code: "CHECKPOINT_GONE" });
    expect(existsSync(list)).toBe(true);
  });
});
