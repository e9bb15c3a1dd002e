import { describe, expect, it } from "vitest";
import { z } from "zod";
import { coverageByCluster, coverageOf, overallMean, ratioRange } from "../../src/stats/index.ts";
import { golden } from "./golden.ts";

describe("coverage", () => {
  it("averages what was scored and bounds what was not", () => {
    const { input, expected, close } = golden(
      "B2_parse_failures_in_average",
      z.object({ scores: z.array(z.number().nullable()) }),
      z.object({
        mean_scored: z.number(),
        n_expected: z.number(),
        n_scored: z.number(),
        coverage: z.number(),
        "bounds_if_missing_in_[0.1,10]": z.array(z.number()),
      }),
    );
    close(coverageOf(input.scores, ratioRange()), {
      mean: expected.mean_scored,
      scored: expected.n_scored,
      expected: expected.n_expected,
      coverage: expected.coverage,
      bounds: expected["bounds_if_missing_in_[0.1,10]"],
    });
  });

  it("is null, not 0, without data", () => {
    expect(coverageOf([], ratioRange())).toMatchObject({ mean: null, coverage: null, bounds: null });
    expect(coverageOf([null], ratioRange())).toMatchObject({ mean: null, coverage: 0, bounds: [0.1, 10] });
  });

  it("shows the roles in which refusals gather", () => {
    const rows = coverageByCluster(
      [
        { cluster: "villain", instance: "0", value: null },
        { cluster: "villain", instance: "1", value: 1 },
        { cluster: "hero", instance: "0", value: 1 },
      ],
      ratioRange(),
    );
    expect(rows.map(({ cluster, coverage }) => [cluster, coverage])).toEqual([
      ["hero", 1],
      ["villain", 0.5],
    ]);
  });
});

describe("overall mean", () => {
  it("is undefined as soon as one metric is missing", () => {
    const metrics = [
      { name: "PC", value: 1 },
      { name: "EA", value: 2 },
    ];
    expect(overallMean(metrics)).toEqual({ status: "estimated", estimate: 1.5 });
    expect(overallMean([...metrics, { name: "SN", value: null }])).toEqual({
      status: "undefined",
      reason: "incomplete",
      missing: ["SN"],
    });
    expect(overallMean([])).toMatchObject({ reason: "no_data" });
  });
});
