import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Project } from "../../src/core/project.ts";
import { projectWith, turnAt, type Corpus } from "../dataset/corpus.ts";
import { runUnderstudy, type RunOutcome } from "../support/run-understudy.ts";

const TRAIN = "train/single/Thor.json";
const RECORD = "datasets/small.refused.json";

const commands =
  ({ root: cwd }: Project) =>
  (verb: string, ...words: string[]): Promise<RunOutcome> =>
    runUnderstudy(["dataset", verb, "small", ...words], { cwd });

// Thor has six training dialogues: four lose a clip, two go to dev.
const lost = (corpus: Corpus): void => {
  Object.assign(corpus.spec["splits"] ?? {}, { devPerRole: 2 });
  for (const dialogue of [0, 1, 2, 3])
    corpus.files.delete(String(turnAt(corpus, TRAIN, { dialogue, turn: 0 })["user_speech_path"]));
};
const rewrite = async (
  { datasets }: Project,
  change: (spec: Record<string, unknown>) => void,
): Promise<void> => {
  const path = join(datasets, "small.yaml");
  const spec: Record<string, unknown> = JSON.parse(await readFile(path, "utf8"));
  change(spec);
  await writeFile(path, JSON.stringify(spec));
};

describe("after a refused pack", () => {
  it("show --drops says why, until a pack comes through", async () => {
    const project = await projectWith(lost);
    const run = commands(project);
    const refused = await run("pack");
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain("of 6 given, 4 were dropped (audio_missing 4), 2 went to dev");
    expect(refused.stderr).toContain("what was left out, and why: understudy dataset show small --drops");
    const { stdout, stderr, exitCode } = await run("show", "--drops", "--role", "thor");
    expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
    expect(stdout).toContain("of the last pack of small, which was refused");
    expect(stdout).toContain('seen role "Thor" has no training dialogue');
    expect(stdout).toMatch(/^ {2}audio_missing +4$/m);
    expect(JSON.parse((await run("show", "--drops", "--json")).stdout)).toMatchObject({
      refused: true,
      byReason: { audio_missing: 4 },
      gates: [{ name: "role_membership", problems: [expect.stringContaining("Thor")] }],
    });
    for (const words of [[], ["--split", "dev"]])
      expect((await run("show", ...words)).stderr).toBe(
        'error: The data set "small" is not packed: its last pack was refused\n' +
          "hint: why, and what was left out: understudy dataset show small --drops\n",
      );
    await rewrite(project, (spec) => Object.assign(spec["splits"] ?? {}, { devPerRole: 1 }));
    expect((await run("pack")).exitCode).toBe(0);
    expect((await run("show", "--drops")).stdout).not.toContain("refused");
    await expect(readFile(join(project.state, RECORD))).rejects.toMatchObject({ code: "ENOENT" });
  });

  it("the earlier lock is shown with a warning, and what is torn or of another lock is passed over", async () => {
    const project = await projectWith();
    const run = commands(project);
    expect((await run("pack")).exitCode).toBe(0);
    await rewrite(project, (spec) => Object.assign(spec["expected"] ?? {}, { roles: 5 }));
    expect((await run("pack")).exitCode).toBe(2);
    const overview = await run("show");
    expect(overview.stderr).toContain("the last pack of small was refused, this is the one before");
    const drops = await run("show", "--drops");
    expect(drops.stdout).toContain("expected 5 roles, found 3");
    expect(drops.stderr).toContain("the lock of the pack before stands as it was");
    const lock = join(project.datasets, "small.lock.json");
    await writeFile(lock, `${await readFile(lock, "utf8")}\n`);
    expect((await run("show", "--drops")).stdout).toBe("nothing was dropped\n");
    expect((await run("pack")).exitCode).toBe(2);
    await writeFile(join(project.state, RECORD), '{"schemaVersion": 1, "dro');
    expect((await run("show", "--drops")).stdout).toBe("nothing was dropped\n");
  });

  it("a state folder that cannot be written does not hide why", async () => {
    const project = await projectWith(lost);
    const run = commands(project);
    await run("pack");
    await rm(join(project.state, RECORD));
    // A folder stands where the record goes.
    await mkdir(join(project.state, RECORD, "x"), { recursive: true });
    expect((await run("pack")).stderr).toContain("role_membership: seen role");
  });
});

describe("a gate that was allowed before", () => {
  it("is refused anew with the command that allows it for the same reason", async () => {
    const project = await projectWith((corpus) => Object.assign(corpus.spec["expected"] ?? {}, { roles: 5 }));
    const run = commands(project);
    expect((await run("pack", "--allow", "expected_counts=it's a subset")).exitCode).toBe(0);
    await rewrite(project, (spec) => Object.assign(spec["splits"] ?? {}, { seed: 8 }));
    const { stderr } = await run("pack");
    expect(stderr).toContain(
      String.raw`hint: allowed at the pack before, and to be allowed anew: understudy dataset pack small --allow expected_counts='it'\''s a subset'`,
    );
    await rewrite(project, (spec) =>
      Object.assign(spec["splits"] ?? {}, { heldOutRoles: ["hutao", "Loki"] }),
    );
    const both = await run("pack");
    expect(both.stderr).toContain("--allow GATE=REASON records it in the lock");
    expect(both.stderr).toContain("understudy dataset pack small --allow expected_counts=");
  });
});

describe("a gate with many violations", () => {
  it("names five, a line each, and says where the others are", async () => {
    const project = await projectWith((corpus) => {
      for (let number = 0; number < 23; number++)
        corpus.dialogues.set(`train/single/Loki ${number}.json`, []);
    });
    const run = commands(project);
    const { stderr } = await run("pack");
    expect(
      stderr.match(/^ {4}train\/single\/Loki \d+\.json belongs to no role of the manifest$/gm),
    ).toHaveLength(5);
    expect(stderr).toContain("    and 18 more: understudy dataset show small --drops\n");
    expect((await run("show", "--drops")).stdout.match(/belongs to no role/g)).toHaveLength(23);
    const allowed = await run("pack", "--allow", "role_membership=they come later");
    expect(allowed.stderr.match(/belongs to no role/g)).toHaveLength(5);
    expect(allowed.stderr).toContain("    and 18 more: understudy dataset show small --json");
    const checked = await run("check");
    expect(checked.stdout).toContain(
      "gate role_membership: VIOLATED and allowed (they come later)\n    train/",
    );
    expect(JSON.parse((await run("check", "--json")).stdout).gates[0].detail).toMatch(/; and 3 more$/);
  });
});
