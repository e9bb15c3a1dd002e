import { mkdtemp, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { type JudgedVerdict, METRICS, type MetricName } from "../../src/evaluate/index.ts";
import { buildReport, type Cell, indexed, type ReportInput, writeReport } from "../../src/report/index.ts";
import { PairSchema } from "../stats/examples.ts";
import { golden } from "../stats/golden.ts";
import { FLUENCY, type Heard, inputOf, type Scores, verdictsOf } from "./judged-input.ts";
import { removeFolder } from "../support/remove-folder.ts";

const judged = (heard: readonly Heard[], metric: MetricName = FLUENCY): ReadonlyMap<string, Cell> =>
  indexed(buildReport(inputOf(heard, verdictsOf(heard, metric))).cells);
const level = (cells: ReadonlyMap<string, Cell>, outcome: string): Cell | undefined =>
  cells.get(`level/chosen/test/seen/${outcome}`);
const roles = (pairs: readonly (readonly Scores[])[]): readonly Heard[] =>
  pairs.map((scores, index) => ({ role: `r${index}`, scores }));

const Pairs = z.object({ pairs_test_ref: z.array(PairSchema.nullable()) });

describe("golden cases through the report", () => {
  it("A1, A2: mean over references, then over dialogues, with a t interval over roles", () => {
    const one = golden("A1_ratio_instance", Pairs, z.object({ instance_ratio: z.number() }));
    one.close(
      level(judged(roles([one.input.pairs_test_ref])), FLUENCY)?.estimate,
      one.expected.instance_ratio,
    );
    const { input, expected, close } = golden(
      "A2_ratio_score_two_level",
      z.object({ instances: z.array(z.array(PairSchema)) }),
      z.object({ score: z.number() }),
    );
    const cell = level(judged(roles(input.instances)), FLUENCY);
    close(cell?.estimate, expected.score);
    expect(cell).toMatchObject({ roles: 3, scored: 3, expected: 3, unit: "ratio" });
    // By hand: the three dialogues have 19/18, 14/15 and 19/90; t(0.975, 2) = 4.302653.
    const ratios = [19 / 18, (1 + 0.8 + 1) / 3, (0.2 + 1 / 3 + 0.1) / 3];
    const spread = Math.sqrt(ratios.reduce((sum, ratio) => sum + (ratio - expected.score) ** 2, 0) / 2);
    expect(cell?.hi).toBeCloseTo(expected.score + (4.302652729749464 * spread) / Math.sqrt(3), 9);
  });

  it("A3, A4: three scales, and a word where they disagree", () => {
    const { input, expected, close } = golden(
      "A3_MoR_vs_RoM_vs_GM_real",
      Pairs,
      z.looseObject({ mean_of_ratios: z.number(), ratio_of_means: z.number(), geometric_mean: z.number() }),
    );
    const heard = input.pairs_test_ref.map((pair, index) => ({ role: `r${index % 5}`, scores: [pair] }));
    const real = judged(heard);
    close(level(real, FLUENCY)?.estimate, expected.mean_of_ratios);
    close(level(real, `${FLUENCY}.ratio_of_means`)?.estimate, expected.ratio_of_means);
    close(level(real, `${FLUENCY}.geometric_mean`)?.estimate, expected.geometric_mean);
    expect(level(real, FLUENCY)).toMatchObject({ roles: 5, scored: 10, reason: null });
    const swapped = golden(
      "A4_reciprocal_asymmetry",
      z.object({ pairs_ab: z.array(PairSchema) }),
      z.looseObject({ mean_of_ratios_a_over_b: z.number(), ratio_of_means: z.number() }),
    );
    const odd = judged(roles(swapped.input.pairs_ab.map((pair) => [pair])));
    swapped.close(level(odd, FLUENCY)?.estimate, swapped.expected.mean_of_ratios_a_over_b);
    swapped.close(level(odd, `${FLUENCY}.ratio_of_means`)?.estimate, swapped.expected.ratio_of_means);
    expect(level(odd, FLUENCY)?.reason).toContain("disagree on which side of 1");
  });

  it("A5: a dialogue with a missing call is counted and in no mean", () => {
    const { input, expected } = golden(
      "A5_missing_reference_call",
      Pairs,
      z.looseObject({ complete_case: z.looseObject({ instance_ratio: z.null() }) }),
    );
    const cell = level(
      judged(
        roles([
          input.pairs_test_ref,
          [
            [5, 5],
            [5, 5],
            [5, 5],
          ],
        ]),
      ),
      FLUENCY,
    );
    expect(expected.complete_case.instance_ratio).toBeNull();
    expect(cell).toMatchObject({ estimate: 1, roles: 1, scored: 1, expected: 2 });
    // Bounds by hand: the missing dialogue could have had 0.1 or 10.
    expect(cell?.reason).toContain("no verdict 1; scored, they would leave the mean between 0.550 and 5.500");
  });

  it("A6: a score outside the scale is unscored", () => {
    const { input, expected, close } = golden(
      "A6_zero_or_out_of_range_scores",
      Pairs,
      z.looseObject({ mean_over_scored: z.number(), n_scored: z.number(), n_expected: z.number() }),
    );
    const cell = level(judged(roles(input.pairs_test_ref.map((pair) => [pair]))), FLUENCY);
    close(cell?.estimate, expected.mean_over_scored);
    expect(cell).toMatchObject({ scored: expected.n_scored, expected: expected.n_expected });
    expect(cell?.reason).toContain("out of range 3");
  });

  it("A7: both orders of a dialogue are one dialogue", () => {
    const { input, expected, close } = golden(
      "A7_position_swap_debias",
      z.looseObject({ order_AB_test_first: z.array(PairSchema) }),
      z.looseObject({ unswapped_BA_test_ref: z.array(PairSchema), score_balanced: z.number() }),
    );
    const heard = [
      ...input.order_AB_test_first.map((pair, index) => ({
        role: `r${index}`,
        scores: [pair],
        order: "test-first" as const,
      })),
      ...expected.unswapped_BA_test_ref.map((pair, index) => ({
        role: `r${index}`,
        scores: [pair],
        order: "reference-first" as const,
      })),
    ];
    const cell = level(judged(heard), FLUENCY);
    close(cell?.estimate, expected.score_balanced);
    expect(cell).toMatchObject({ scored: 3, expected: 3 });
  });
});

const HEARD = roles([[[6, 8]], [[9, 6]], [[8, 8]]]);
const EIGHT = METRICS.flatMap((metric) => verdictsOf(HEARD, metric));
const unscored = ({ verdict, ...at }: JudgedVerdict, reason: string): JudgedVerdict => ({
  ...at,
  verdict: { status: "unscored", metric: verdict.metric, reason, raw: null },
});

describe("the overall", () => {
  it("is the mean of all eight, over the same roles", () => {
    const cells = indexed(buildReport(inputOf(HEARD, EIGHT)).cells);
    expect(level(cells, "overall")).toMatchObject({ roles: 3, scored: 3, expected: 3, reason: null });
    expect(level(cells, "overall")?.estimate).toBeCloseTo((0.75 + 1.5 + 1) / 3, 12);
    expect(level(cells, "overall")?.lo).not.toBeNull();
  });

  it("never becomes an overall of seven", () => {
    const blocked = EIGHT.map((one) => (one.verdict.metric === FLUENCY ? unscored(one, "blocked") : one));
    const model = buildReport(inputOf(HEARD, blocked));
    const cells = indexed(model.cells);
    expect(level(cells, FLUENCY)).toMatchObject({ estimate: null, scored: 0, expected: 3 });
    expect(level(cells, FLUENCY)?.reason).toContain("blocked 3");
    expect(level(cells, "overall")).toMatchObject({
      estimate: null,
      scored: 0,
      reason: "no overall of the eight without speech fluency",
    });
  });

  it("has no interval where a role lacks a metric", () => {
    const holed = EIGHT.map((one) =>
      one.verdict.metric === FLUENCY && one.dialogue === "r0-0" ? unscored(one, "unreadable") : one,
    );
    const cells = indexed(buildReport(inputOf(HEARD, holed)).cells);
    expect(level(cells, "overall")).toMatchObject({ lo: null, hi: null, roles: 2, scored: 2, expected: 3 });
    expect(level(cells, "overall")?.estimate).toBeCloseTo((7 * (3.25 / 3) + 1.25) / 8, 12);
  });
});

describe("verdicts in the pages", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "judged-"));
  });
  afterAll(() => removeFolder(folder));

  it("shows scores, scales and coverage everywhere, in any order of the verdicts", async () => {
    const texts: string[][] = [];
    for (const verdicts of [EIGHT, EIGHT.toReversed()]) {
      const input = inputOf(HEARD, verdicts);
      const path = await writeReport(buildReport(input), input, join(folder, String(texts.length)));
      const read = async (name: string): Promise<string> =>
        readFile(path.replace("index.html", name), "utf8");
      texts.push([await read("index.html"), await read("report.md"), await read("report.csv")]);
    }
    expect(texts[1]).toEqual(texts[0]);
    const [html = "", markdown = "", csv = ""] = texts[0] ?? [];
    expect(csv).toMatch(/level,chosen,test\/seen,speech_fluency\.geometric_mean,1\.04/);
    expect(csv).toContain("level,base,test/seen,speech_fluency,,,,0,0,3,ratio,");
    expect(markdown).toContain("| Overall, ratio |");
    expect(markdown).toMatch(/Judged by ears-1 .*overall 1\.083 \[/);
    expect(html).toContain('data-cell="level/chosen/test/seen/speech_fluency.ratio_of_means"');
    expect(html).toMatch(/<details class="more" open><summary>The eight metrics/);
  });
});

describe("verdicts that would make a wrong number", () => {
  const build = (verdicts: readonly JudgedVerdict[], changes: Partial<ReportInput["evaluation"]> = {}) => {
    const input = inputOf(HEARD, verdicts);
    return buildReport({ ...input, evaluation: { ...input.evaluation, ...changes } });
  };

  it("are refused: two of one call, of something unknown, scores without a judge", () => {
    expect(() => build([...EIGHT, ...EIGHT.slice(0, 1)])).toThrow(/two verdicts/);
    for (const change of [{ system: "other" }, { dialogue: "other" }, { suite: "test/unseen" as const }]) {
      expect(() => build(EIGHT.map((one) => ({ ...one, ...change })))).toThrow(/does not hold/);
    }
    expect(() => build(EIGHT, { judge: { status: "none", reason: "none here" } })).toThrow(/names no judge/);
  });

  it("unscored ones of a machine without a judge change nothing", () => {
    const none = { judge: { status: "none", reason: "none here" } } as const;
    const { cells } = build(
      EIGHT.map((one) => unscored(one, "no_judge")),
      none,
    );
    expect(cells).toEqual(build([], none).cells);
  });
});
