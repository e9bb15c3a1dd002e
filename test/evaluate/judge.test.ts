import { describe, expect, it } from "vitest";
import { isComplete, judgePrompt, METRICS, noJudge, withoutJudge } from "../../src/evaluate/index.ts";

const request = {
  metrics: METRICS,
  role: { name: "悟空", language: "zh", card: "俺老孙" },
  userTexts: ["你是谁？"],
  test: [new Uint8Array(4)],
  reference: [new Uint8Array(4)],
  order: "test-first",
} as const;

describe("no judge", () => {
  it("leaves all eight metrics unscored and the overall null", async () => {
    const verdicts = await noJudge("this machine has no language judge").judge(request);
    expect(verdicts.map(({ metric }) => metric)).toEqual(METRICS);
    expect(verdicts.every((verdict) => verdict.status === "unscored" && verdict.reason === "no_judge")).toBe(
      true,
    );
    expect(withoutJudge()).toEqual({ verdicts, overall: null });
    expect(isComplete(verdicts, METRICS)).toBe(false);
  });
});

describe("judge prompt", () => {
  it("asks one question, names no system and carries the role card", () => {
    const prompts = METRICS.map((metric) => judgePrompt(request, metric));
    expect(new Set(prompts.map(({ closing }) => closing)).size).toBe(8);
    expect(new Set(prompts.map(({ opening }) => opening)).size).toBe(1);
    expect(prompts[0]?.opening).toContain("俺老孙");
    expect(prompts[0]?.opening).toContain("1. 你是谁？");
    expect(JSON.stringify(prompts)).not.toMatch(/reference|test system/i);
  });
});
