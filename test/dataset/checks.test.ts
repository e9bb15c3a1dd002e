import { describe, expect, it } from "vitest";
import { checkAnswers, type SpokenAnswer } from "../../src/dataset/pack/checks.ts";
import { DatasetSpec } from "../../src/dataset/schema.ts";

const checks = DatasetSpec.shape.checks.parse({});
const spoken = (text: string, seconds = text.length / 12): SpokenAnswer => ({
  text,
  seconds: { cosyvoice2: seconds },
});
const zh = (text: string, seconds = text.length / 4): SpokenAnswer => ({
  text,
  seconds: { cosyvoice2: seconds },
});
const English = "By Odin's beard, you have a warrior's heart and a fool's luck.";
const Chinese = "客官里面请，本堂今日开张，买一送一，童叟无欺。";

describe("the language of a role", () => {
  it.each([
    ["en", spoken(English)],
    ["zh", zh(Chinese)],
    ["zh", zh("往生堂的 hutao 在此，有何贵干呀，要不要来一单？")],
    ["en", spoken("Tea? 茶, as they say in the East, is the answer to every question.")],
    ["en", spoken("OK!")],
    ["zh", zh("OK!")],
    ["zh", zh("……")],
  ] as const)("%s takes %o", (language, answer) => {
    expect(checkAnswers(language, [answer], checks)).toBeUndefined();
  });

  it.each([
    ["zh", spoken(English), 'are Chinese characters: "By Odin'],
    ["en", zh(Chinese), "0 % of its letters are Latin"],
    ["en", spoken("Привет, мой дорогой друг"), "0 % of its letters are Latin"],
    ["zh", spoken("こんにちは、わたしはふたばです"), "0 % of its letters are Chinese"],
  ] as const)("%s refuses %o", (language, answer, detail) => {
    const plain = language === "zh" ? zh(Chinese) : spoken(English);
    expect(checkAnswers(language, [plain, answer], checks)).toMatchObject({
      reason: "wrong_language",
      turn: 1,
      detail: expect.stringContaining(detail),
    });
    const keep = { ...checks, wrongLanguage: "keep" as const };
    expect(checkAnswers(language, [answer], keep)?.reason).not.toBe("wrong_language");
  });
});

describe("the speed of an answer", () => {
  it("allows for short words and for silence around them", () => {
    for (const [text, seconds] of [
      ["No.", 1.9],
      ["Ha!", 0.2],
      ["Yes", 2.5],
    ] as const)
      expect(checkAnswers("en", [spoken(text, seconds)], checks)).toBeUndefined();
  });
  it("finds an answer whose end was never spoken, by any of its clips", () => {
    const answer = { text: English.repeat(6), seconds: { cosyvoice2: 22, f5_tts: 3.5 } };
    expect(checkAnswers("en", [answer], checks)).toMatchObject({
      reason: "speech_cut_off",
      turn: 0,
      detail: expect.stringContaining("characters in 3.50 s of f5_tts, at most 40 a second can be"),
    });
    expect(checkAnswers("zh", [zh(Chinese.repeat(5), 2)], checks)).toMatchObject({
      reason: "speech_cut_off",
    });
  });
  it("finds a clip that goes on and on", () => {
    expect(checkAnswers("en", [spoken("Farewell, friend.", 30)], checks)).toMatchObject({
      reason: "speech_too_long",
    });
  });
  it("takes its bounds from the spec", () => {
    const narrow = {
      ...checks,
      charactersPerSecond: { en: [4, 8] as [number, number], zh: [1, 15] as [number, number] },
    };
    expect(checkAnswers("en", [spoken(English.repeat(4))], narrow)).toMatchObject({
      reason: "speech_cut_off",
    });
  });
});

describe("what no role says", () => {
  it.each([
    ["meta_text", "en", "As an AI language model, I cannot wield the hammer of Thor."],
    ["meta_text", "en", "I'm just an AI, but verily I would smite him."],
    ["meta_text", "zh", "作为一个人工智能，我无法回答这个问题，请见谅。"],
    ["meta_text", "en", 'Sure! {"dialogue": [{"user": "Hello there, good sir"}]}'],
    ["stage_direction", "en", "*raises the hammer* You shall not have it, brother."],
    ["stage_direction", "en", "(quietly) I have seen the end of all the realms."],
    ["stage_direction", "en", "I have seen it all (sighs deeply) and I am tired."],
    ["stage_direction", "zh", "（叹气）这世上的事，哪里说得清楚呢，客官。"],
  ] as const)("%s: %s %s", (reason, language, text) => {
    const answer = language === "zh" ? zh(text) : spoken(text);
    expect(checkAnswers(language, [answer], checks)).toMatchObject({ reason, turn: 0 });
    expect(checkAnswers(language, [answer], { ...checks, metaText: "keep" })).toBeUndefined();
  });
  it.each([
    ["en", "I told him (and he knew it) that the 2 * 3 rule holds."],
    ["en", "An artificial smile and a language of models: that is Hollywood."],
    ["zh", "这道菜（红烧肉）是我最拿手的，客官要不要尝一尝？"],
  ] as const)("and takes %s: %s", (language, text) => {
    expect(checkAnswers(language, [language === "zh" ? zh(text) : spoken(text)], checks)).toBeUndefined();
  });
});
