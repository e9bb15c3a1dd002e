import { describe, expect, it } from "vitest";
import { buildReport, indexed, sentenceText } from "../../src/report/index.ts";
import { byGains, handInput, type HandTurn, withResult } from "./hand-input.ts";

const GAINS = [0.3, 0.4, 0.5];

describe("what is missing", () => {
  it("lowers the coverage and enters no average", () => {
    const turns = byGains("s", GAINS);
    const holed = turns.map((turn, index): HandTurn =>
      index === 1 ? { ...turn, nll: { ...turn.nll, chosen: null } } : turn,
    );
    const cells = indexed(buildReport(handInput(holed, [])).cells);
    expect(cells.get("level/chosen/test/seen/nll")).toMatchObject({ roles: 2, scored: 2, expected: 3 });
    expect(cells.get("level/chosen/test/seen/nll")?.estimate).toBeCloseTo((2.7 + 2.5) / 2, 12);
    expect(cells.get("level/base/test/seen/nll")).toMatchObject({ roles: 3, scored: 3, expected: 3 });
    // Only what both have is compared.
    expect(cells.get("difference/chosen-vs-base/test/seen/nll")).toMatchObject({
      roles: 2,
      scored: 2,
      expected: 3,
    });
    expect(cells.get("difference/chosen-vs-base/test/seen/nll")?.estimate).toBeCloseTo(-0.4, 12);
    expect(cells.get("dialogue/chosen-vs-base/test/seen/s01-multi-0")?.estimate).toBeNull();
  });

  it("is said in the verdict", () => {
    const input = withResult(
      handInput(byGains("s", GAINS), []),
      { system: "chosen", suite: "test/seen" },
      (result) => ({
        scores: result.scores.slice(1),
      }),
    );
    const model = buildReport(input);
    const sentence = model.verdict.sentences.find(({ topic }) => topic === "coverage");
    expect(sentence && sentenceText(sentence, indexed(model.cells))).toContain("2 of 3 turns were scored");
  });

  it("leaves a measure without a value out, with the count", () => {
    const input = withResult(
      handInput(byGains("s", GAINS), []),
      { system: "base", suite: "test/seen" },
      (result) => ({
        measures: result.measures.map((row, index) =>
          index === 0 ? { ...row, value: null, reason: "silent" } : row,
        ),
      }),
    );
    const cells = indexed(buildReport(input).cells);
    expect(cells.get("level/base/test/seen/duration")).toMatchObject({
      roles: 2,
      scored: 2,
      expected: 3,
      estimate: 1,
    });
    expect(cells.get("turn/base/test/seen/s00-multi-0/0/duration")).toMatchObject({
      estimate: null,
      reason: "silent",
    });
  });

  it("lists failed and missing answers and keeps them in the denominator", () => {
    const input = withResult(
      handInput(byGains("s", GAINS), []),
      { system: "chosen", suite: "test/seen" },
      (result) => ({
        answers: result.answers
          .slice(1)
          .map((row, index) =>
            index === 0 ? { ...row, failure: { code: "SPEECH_FAILED", message: "it broke" } } : row,
          ),
      }),
    );
    const model = buildReport(input);
    const cells = indexed(model.cells);
    expect(cells.get("level/chosen/test/seen/failed")).toMatchObject({ estimate: 2, scored: 2, expected: 3 });
    expect(cells.get("level/chosen/test/seen/failed_missing")?.estimate).toBe(1);
    expect(cells.get("level/chosen/test/seen/failed_error")?.estimate).toBe(1);
    expect(model.failures.map(({ dialogue, class: kind }) => [dialogue, kind])).toEqual([
      ["s00-multi-0", "missing"],
      ["s01-multi-0", "error"],
    ]);
    expect(model.dialogues.filter(({ failed }) => failed).map(({ id }) => id)).toEqual([
      "s00-multi-0",
      "s01-multi-0",
    ]);
    const sentence = model.verdict.sentences.find(({ topic }) => topic === "failures");
    expect(sentence && sentenceText(sentence, cells)).toContain("2 of 3 spoken answers");
  });

  it("of one system everywhere leaves no comparison, and nothing breaks", () => {
    const none = byGains("s", GAINS).map((turn) => ({ ...turn, nll: { ...turn.nll, chosen: null } }));
    const model = buildReport(handInput(none, []));
    const cells = indexed(model.cells);
    expect(cells.get("level/chosen/test/seen/nll")).toMatchObject({
      estimate: null,
      scored: 0,
      reason: "nothing was scored",
    });
    expect(model.verdict.headline).toContain("not measured on seen roles");
  });

  it("everything: an evaluation without an instance is still a report", () => {
    const model = buildReport(handInput([], []));
    expect(model.verdict.headline).toContain("nothing was evaluated");
  });
});

describe("input that would make a wrong number", () => {
  const input = handInput(byGains("s", GAINS), byGains("u", GAINS));

  it("refuses two results of one system on one suite", () => {
    const results = [...input.evaluation.results, ...input.evaluation.results.slice(0, 1)];
    expect(() => buildReport({ ...input, evaluation: { ...input.evaluation, results } })).toThrow(
      /two results of "base"/,
    );
  });

  it("refuses systems that were evaluated on different instances", () => {
    const other = withResult(input, { system: "last", suite: "test/seen" }, (result) => ({
      expected: result.expected.slice(1),
    }));
    expect(() => buildReport(other)).toThrow(/not evaluated on the same instances/);
  });

  it("refuses a comparison of systems that are not there", () => {
    expect(() =>
      buildReport({ ...input, comparison: { base: "base", chosen: "best", last: "last" } }),
    ).toThrow(/no system "best"/);
  });
});
