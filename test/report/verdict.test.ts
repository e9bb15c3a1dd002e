import { describe, expect, it } from "vitest";
import { buildReport, indexed, type ReportInput, sentenceText } from "../../src/report/index.ts";
import { byGains, handInput } from "./hand-input.ts";

const EIGHT = [0.3, 0.35, 0.4, 0.45, 0.5, 0.32, 0.41, 0.38];
const AROUND_ZERO = [0.3, -0.28, 0.2, -0.22, 0.1, -0.12, 0.05, -0.04];

const verdict = (input: ReportInput) => {
  const model = buildReport(input);
  const cells = indexed(model.cells);
  const about = (topic: string): string =>
    model.verdict.sentences
      .filter((sentence) => sentence.topic === topic)
      .map((sentence) => sentenceText(sentence, cells))
      .join("");
  return { model, cells, headline: model.verdict.headline, about };
};
const negative = (gains: readonly number[]): number[] => gains.map((gain) => -gain);

describe("verdict on the checkpoint", () => {
  it("better", () => {
    const { headline, about } = verdict(handInput(byGains("s", EIGHT), byGains("u", EIGHT)));
    expect(headline).toBe(
      "Lowest dev loss (step 20): better than the base model on seen roles and on unseen roles",
    );
    expect(about("chosen_vs_base")).toContain("on the 8 seen roles (better: the interval excludes 0)");
  });

  it("worse", () => {
    const { headline, about } = verdict(handInput(byGains("s", negative(EIGHT)), byGains("u", EIGHT)));
    expect(headline).toBe(
      "Lowest dev loss (step 20): worse than the base model on seen roles, better than the base model on unseen roles",
    );
    expect(about("chosen_vs_base")).toContain("on the 8 seen roles (worse: the interval excludes 0)");
  });

  it("inconclusive, and says that the interval includes 0", () => {
    const { headline, about } = verdict(handInput(byGains("s", AROUND_ZERO), byGains("u", AROUND_ZERO)));
    expect(headline).toContain("not told apart from the base model");
    expect(about("chosen_vs_base")).toContain(
      "the interval includes 0: this test does not tell the two apart",
    );
  });

  it("zero variance proves nothing", () => {
    const { headline, about } = verdict(handInput(byGains("s", Array(8).fill(0.5)), byGains("u", EIGHT)));
    expect(headline).toContain("no interval against the base model on seen roles");
    expect(about("chosen_vs_base")).toContain("zero variance");
  });

  it("one role gives a difference but no interval", () => {
    const { headline, about, cells } = verdict(handInput(byGains("s", [0.5]), byGains("u", [0.1])));
    expect(cells.get("difference/chosen-vs-base/test/seen/nll")).toMatchObject({
      lo: null,
      hi: null,
      roles: 1,
    });
    expect(headline).toContain("no interval");
    expect(about("chosen_vs_base")).toContain("on the 1 seen role (no claim, one role: no interval)");
  });

  it("one checkpoint under two names differs by exactly 0, and it says so", () => {
    const input = handInput(byGains("s", EIGHT), byGains("u", EIGHT));
    const systems = input.evaluation.systems.map((system) =>
      system.id === "last" ? { ...system, weightsDigest: "w20" } : system,
    );
    const { cells, about, model } = verdict({ ...input, evaluation: { ...input.evaluation, systems } });
    expect(cells.get("difference/chosen-vs-last/test/seen/nll")).toMatchObject({
      estimate: 0,
      lo: 0,
      hi: 0,
      reason: "same weights under two names",
    });
    expect(about("chosen_vs_last")).toContain(
      "0 [0, 0] on the 8 seen roles (exactly 0: the same weights under two names)",
    );
    expect(model.systems.find(({ id }) => id === "last")?.sameAs).toEqual(["chosen"]);
  });

  it("two states that score the same are not called one", () => {
    const { about } = verdict(handInput(byGains("s", EIGHT), byGains("u", EIGHT)));
    expect(about("chosen_vs_last")).toContain("although the weights differ");
  });

  it("takes the interval away from a checkpoint that was chosen on the test set", () => {
    const input = handInput(byGains("s", EIGHT), byGains("u", EIGHT));
    const { cells, about } = verdict({
      ...input,
      selection: { candidates: 9, set: "test", rule: "best test score" },
    });
    for (const key of [
      "difference/chosen-vs-base/test/seen/nll",
      "level/chosen/test/seen/nll",
      "generalisation/chosen-vs-base/test/did",
    ]) {
      expect(cells.get(key), key).toMatchObject({
        lo: null,
        hi: null,
        reason: expect.stringContaining("chosen on this test set"),
      });
    }
    expect(cells.get("difference/chosen-vs-base/test/seen/nll.p")?.estimate).toBeNull();
    expect(cells.get("difference/last-vs-base/test/seen/nll")?.lo).not.toBeNull();
    expect(about("selection")).toContain("optimistic");
  });

  it("always says that one run is no recipe and that nobody judged", () => {
    const { about } = verdict(handInput(byGains("s", EIGHT), []));
    expect(about("recipe")).toContain("nothing about the recipe");
    expect(about("judge")).toContain("unscored");
  });
});

describe("verdict on generalisation", () => {
  const said = (seen: readonly number[], unseen: readonly number[]): string =>
    verdict(handInput(byGains("s", seen), byGains("u", unseen))).about("generalisation");
  const small = EIGHT.map((gain) => gain / 4);

  it("refuses without unseen roles", () => {
    const { about, cells } = verdict(handInput(byGains("s", EIGHT), []));
    expect(about("generalisation")).toContain("there is no unseen role");
    expect(cells.get("generalisation/chosen-vs-base/test/did")).toMatchObject({ estimate: null, lo: null });
  });

  it("gives no verdict with fewer than eight roles on a side", () => {
    const { about, cells } = verdict(handInput(byGains("s", EIGHT), byGains("u", small.slice(0, 7))));
    expect(about("generalisation")).toContain("fewer than 8 roles on a side");
    expect(about("generalisation")).not.toMatch(/memoris|gain too/);
    expect(cells.get("generalisation/chosen-vs-base/test/did")?.estimate).not.toBeNull();
  });

  it("sees a smaller gain on unseen roles", () => {
    expect(said(EIGHT, small)).toContain("unseen roles gain too, but less than seen ones");
  });

  it("sees memorisation", () => {
    expect(said(EIGHT, AROUND_ZERO)).toContain("memorising the training roles");
  });

  it("does not take a wide interval for equality", () => {
    expect(
      said(
        EIGHT,
        EIGHT.toReversed().map((gain) => gain + 0.01),
      ),
    ).toContain("that the gains are equal is not shown either");
  });

  it("sees a larger gain on unseen roles", () => {
    expect(said(small, EIGHT)).toContain("unseen roles gain more");
  });

  it("claims nothing from zero variance", () => {
    expect(said(Array(8).fill(0.5), Array(8).fill(0.25))).toContain("nothing is claimed");
  });

  it("has nothing to say of the base model itself", () => {
    const input = handInput(byGains("s", EIGHT), byGains("u", EIGHT));
    const comparison = { base: "base", chosen: "base", last: "last" };
    expect(verdict({ ...input, comparison }).about("generalisation")).toContain("nothing to generalise");
  });
});
