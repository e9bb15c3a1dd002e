import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  attenuationBound,
  intraclassCorrelations,
  krippendorffAlpha,
  type MeasurementLevel,
} from "../../src/stats/index.ts";
import { Numbers } from "./examples.ts";
import { golden } from "./golden.ts";

const Ratings = z.object({ raters_by_units: z.array(z.array(z.number().nullable())) });
const LEVELS: readonly MeasurementLevel[] = ["nominal", "ordinal", "interval", "ratio"];

describe("Krippendorff's alpha", () => {
  const Expected = z.partialRecord(z.enum(["nominal", "ordinal", "interval", "ratio"]), z.number());

  it("matches the textbook example on four levels", () => {
    const { input, expected, close } = golden("J1_krippendorff_textbook", Ratings, Expected);
    for (const level of LEVELS)
      close(krippendorffAlpha(input.raters_by_units, level).estimate, expected[level]);
  });

  it("matches the encyclopedia example", () => {
    const { input, expected, close } = golden("J2_krippendorff_wikipedia", Ratings, Expected);
    for (const level of ["nominal", "ordinal", "interval"] as const)
      close(krippendorffAlpha(input.raters_by_units, level).estimate, expected[level]);
  });

  it("flags the convention of 1 without variation, and needs a unit rated twice", () => {
    expect(
      krippendorffAlpha(
        [
          [3, 3],
          [3, 3],
        ],
        "interval",
      ),
    ).toMatchObject({ estimate: 1, noVariation: true });
    expect(
      krippendorffAlpha(
        [
          [1, null],
          [null, 2],
        ],
        "nominal",
      ),
    ).toMatchObject({ reason: "no_pairable_values" });
    expect(krippendorffAlpha([], "nominal")).toMatchObject({ status: "undefined" });
  });

  it("does not depend on the order of raters or units", () => {
    const ratings = [
      [1, 2, null, 4],
      [1, 3, 3, 4],
      [2, 2, 3, null],
    ];
    for (const level of LEVELS) {
      const expected = krippendorffAlpha(ratings, level);
      expect(krippendorffAlpha(ratings.toReversed(), level)).toEqual(expected);
      expect(
        krippendorffAlpha(
          ratings.map((row) => row.toReversed()),
          level,
        ),
      ).toEqual(expected);
    }
  });
});

describe("intraclass correlations", () => {
  it("match Shrout and Fleiss", () => {
    const { input, expected, close } = golden(
      "J4_icc_shrout_fleiss",
      z.object({ targets_by_judges: z.array(Numbers) }),
      z.record(z.string(), z.number()),
    );
    const { oneWay, twoWayRandom, twoWayMixed } = intraclassCorrelations(input.targets_by_judges);
    close([oneWay.single, oneWay.average], [expected["ICC(1,1)"], expected["ICC(1,k)"]]);
    close([twoWayRandom.single, twoWayRandom.average], [expected["ICC(2,1)"], expected["ICC(2,k)"]]);
    close([twoWayMixed.single, twoWayMixed.average], [expected["ICC(3,1)"], expected["ICC(3,k)"]]);
  });

  it("are null, not NaN, when nothing varies, and refuse a table with gaps", () => {
    const nothing = { single: null, average: null };
    expect(
      intraclassCorrelations([
        [1, 1],
        [1, 1],
      ]),
    ).toEqual({
      oneWay: nothing,
      twoWayRandom: nothing,
      twoWayMixed: nothing,
    });
    expect(() => intraclassCorrelations([[1, 2]])).toThrow(RangeError);
    expect(() => intraclassCorrelations([[1, 2], [1]])).toThrow(RangeError);
  });

  it("bound the correlation that can be seen", () => {
    expect(attenuationBound(0.64, 0.81)).toBeCloseTo(0.72, 12);
    expect(attenuationBound(-0.1, 0.8)).toBeNull();
  });
});
