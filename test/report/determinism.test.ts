import { mkdtemp, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { buildReport, type ReportInput, writeReport } from "../../src/report/index.ts";
import { sampleInput } from "./sample-input.ts";
import { removeFolder } from "../support/remove-folder.ts";

const turned = <Item>(items: readonly Item[]): Item[] => items.toReversed();

/** The same facts in another order, at every level. */
const shuffled = (input: ReportInput): ReportInput => ({
  ...input,
  evaluation: {
    ...input.evaluation,
    systems: turned(input.evaluation.systems),
    results: turned(input.evaluation.results).map((result) => ({
      ...result,
      expected: turned(result.expected),
      scores: turned(result.scores),
      answers: turned(result.answers),
      measures: turned(result.measures),
    })),
  },
  checkpoints: turned(input.checkpoints),
  losses: turned(input.losses),
  trainingRoles: turned(input.trainingRoles),
  roles: turned(input.roles),
  dialogues: turned(input.dialogues).map((dialogue) => ({
    ...dialogue,
    turns: turned(dialogue.turns).map((turn) => ({ ...turn, references: turned(turn.references) })),
  })),
  provenance: turned(input.provenance),
});

describe("a report", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "determinism-"));
  });
  afterEach(() => removeFolder(folder));

  const contents = async (name: string): Promise<Record<string, string>> => {
    const names = (await readdir(join(folder, name), { recursive: true, withFileTypes: true })).filter(
      (entry) => entry.isFile(),
    );
    const pairs = names.map(async (entry): Promise<[string, string]> => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(join(folder, name).length), (await readFile(path)).toString("base64")];
    });
    return Object.fromEntries((await Promise.all(pairs)).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  };

  it("is the same bytes whatever order its facts come in", async () => {
    const input = await sampleInput(folder);
    const other = shuffled(input);
    await writeReport(buildReport(input), input, join(folder, "one"));
    await writeReport(buildReport(other), other, join(folder, "two"));
    const [one, two] = [await contents("one"), await contents("two")];
    expect(Object.keys(one).length).toBeGreaterThan(100);
    expect(Object.keys(two)).toEqual(Object.keys(one));
    for (const [name, bytes] of Object.entries(one)) expect(two[name] === bytes, name).toBe(true);
  });
});
