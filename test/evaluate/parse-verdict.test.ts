import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { parseVerdict } from "../../src/evaluate/index.ts";

const ParserTable = z.object({
  id: z.literal("B1_parser_table"),
  input: z.object({ texts: z.array(z.string()) }),
  expected: z.object({
    scores: z.array(z.tuple([z.number(), z.number()]).nullable()),
    reasons: z.array(z.string().nullable()),
  }),
});

const golden = z
  .object({ cases: z.array(z.looseObject({ id: z.string() })) })
  .parse(JSON.parse(readFileSync(join(import.meta.dirname, "../golden/eval.json"), "utf8")));
const table = ParserTable.parse(golden.cases.find(({ id }) => id === "B1_parser_table"));

describe("parseVerdict", () => {
  it("has a whole table to be tested with", () => {
    expect(table.input.texts).toHaveLength(15);
    expect(table.expected.scores).toHaveLength(15);
  });

  it.each(table.input.texts.map((text, index) => [index, text] as const))(
    "golden B1, reply %i",
    (index, text) => {
      const parsed = parseVerdict(text);
      const scores = parsed.status === "scored" ? [parsed.first, parsed.second] : null;
      const reason = parsed.status === "unscored" ? parsed.reason : null;
      expect({ scores, reason }).toEqual({
        scores: table.expected.scores[index],
        reason: table.expected.reasons[index],
      });
    },
  );

  it("is not led astray by invisible characters or by a score that is taken back", () => {
    expect(parseVerdict("fine [Sco\u200bres]: (6, 9)")).toMatchObject({ first: 6, second: 9 });
    expect(parseVerdict("[Scores]: (6, 9). No: [Scores]: (unsure)")).toEqual({
      status: "unscored",
      reason: "truncated_last_marker",
    });
  });

  it("keeps the reasons that came before the scores", () => {
    expect(parseVerdict("A is livelier.\n[Scores]: (8, 6)")).toMatchObject({ rationale: "A is livelier." });
  });

  it("never gives a score outside 1 to 10", () => {
    for (const pair of ["(0.5, 5)", "(5, 10.1)", "(1e9, 5)", "(-3, 5)", "(NaN, 5)"]) {
      expect(parseVerdict(`[Scores]: ${pair}`).status, pair).toBe("unscored");
    }
  });
});
