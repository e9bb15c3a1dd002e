import { describe, expect, it } from "vitest";
import { didYouMean, nearMatches } from "../../src/core/near-matches.ts";

describe("nearMatches", () => {
  it.each([
    ["rnak", ["rank", "seed", "bank"], ["rank"]],
    ["learningRat", ["learningRate", "schedule"], ["learningRate"]],
    ["LEARNINGRATE", ["learningRate"], ["learningRate"]],
    ["zzzz", ["rank", "seed"], []],
  ])("finds what was meant by %s", (word, known, expected) => {
    expect(nearMatches(word, known)).toEqual(expected);
  });

  it("finds a path by its last part, and prefers the whole path", () => {
    const known = ["training.seed", "model.seed", "training.speed", "training.rank"];
    expect(nearMatches("seed", known)).toEqual(["model.seed", "training.seed", "training.speed"]);
    expect(nearMatches("training.sed", known)[0]).toBe("training.seed");
  });

  it("says nothing when nothing is near", () => {
    expect(didYouMean("zzzz", ["rank"])).toBe("");
    expect(didYouMean("rang", ["rank"])).toBe("; did you mean rank?");
  });
});
