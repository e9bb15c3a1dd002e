import { describe, expect, it } from "vitest";
import { statisticsOf } from "../../src/dataset/pack/statistics.ts";
import { tokensOf } from "../../src/dataset/pack/tokens.ts";
import { entryOf } from "./entries.ts";

const role = (slug: string, language: "en" | "zh"): Parameters<typeof statisticsOf>[0][number] => ({
  stem: slug,
  slug,
  displayName: slug,
  language,
  source: "x",
  heldOut: false,
  profileSha256: null,
  referenceClipSha256: null,
  referencePcmSha256: null,
});
const ROLES = [role("thor", "en"), role("hutao", "zh")];
const chinese = { roleId: "hutao", stem: "hutao", language: "zh" as const };

describe("tokensOf", () => {
  it("counts 25 for a second of the user's audio, and text by the characters of the language", () => {
    const fields = { userSamples: 16_000 * 3, turns: 2, characters: { prompt: 380, answers: 76 } };
    expect(tokensOf(entryOf("a", fields))).toEqual({ audio: 75, text: 100 + 20 + 24, labels: 20 });
    expect(
      tokensOf(entryOf("b", { ...fields, ...chinese, characters: { prompt: 160, answers: 16 } })),
    ).toEqual({
      audio: 75,
      text: 100 + 10 + 24,
      labels: 10,
    });
  });
});

describe("statisticsOf", () => {
  it("says how much of what is learnt each language makes up", () => {
    const train = [
      entryOf("a", { characters: { prompt: 0, answers: 38 } }),
      entryOf("b", { ...chinese, characters: { prompt: 0, answers: 48 } }),
    ];
    const { languages } = statisticsOf(ROLES, { train, dev: [], ood: [], test: [] });
    expect(languages.en).toMatchObject({
      roles: 1,
      rows: { train: 1, dev: 0, ood: 0, test: 0 },
      trainShare: 0.25,
    });
    expect(languages.zh.trainShare).toBe(0.75);
    const none = statisticsOf(ROLES, { train: [], dev: [], ood: [], test: train });
    expect(none.languages.en.trainShare).toBe(0);
  });

  it("reports questions that train and test share, with both dialogues, and copied answers", () => {
    const train = [entryOf("b", { questions: ["q1", "q2"] }), entryOf("a", { questions: ["q1"] })];
    const test = [entryOf("t", { pool: "test", questions: ["q0", "q1"], turns: 2, copiedAnswers: 1 })];
    const statistics = statisticsOf(ROLES, { train, dev: [], ood: [], test });
    expect(statistics.sameQuestion).toEqual({ pairs: 1, examples: ["t turn 1 (test) and a (train)"] });
    expect(statistics.copiedAnswers).toEqual({ turns: 1, of: 2 });
  });

  it("counts what is odd about clips, over all splits", () => {
    const odd = (id: string, clippedClips: number): ReturnType<typeof entryOf> =>
      entryOf(id, { clippedClips, resampledClips: clippedClips * 10, quietClips: clippedClips * 100 });
    const splits = { train: [odd("a", 1)], dev: [odd("b", 2)], ood: [], test: [odd("c", 4)] };
    expect(statisticsOf(ROLES, splits)).toMatchObject({
      clippedClips: 7,
      resampledClips: 70,
      quietClips: 700,
    });
  });

  it("counts the answers that each reference speaks", () => {
    const test = [
      entryOf("a", {
        spoken: [
          [0, 0, 9, 900],
          [0, 2, 9, 900],
          [1, 0, 9, 900],
        ],
      }),
    ];
    const { answerClips } = statisticsOf(ROLES, { train: [], dev: [], ood: [], test });
    expect(answerClips?.test).toEqual({ cosyvoice2: 2, f5_tts: 0, e2_tts: 1 });
    expect(answerClips?.train).toEqual({ cosyvoice2: 0, f5_tts: 0, e2_tts: 0 });
  });

  it("counts clips by whole seconds, the long ones together", () => {
    const train = [entryOf("a", { seconds: { user: [0, 2, 2], role: [75, 60] } })];
    const { secondsPerClip } = statisticsOf(ROLES, { train, dev: [], ood: [], test: [] });
    expect(secondsPerClip.user).toEqual([1, 0, 2]);
    expect(secondsPerClip.role).toHaveLength(61);
    expect(secondsPerClip.role.at(-1)).toBe(2);
  });
});
