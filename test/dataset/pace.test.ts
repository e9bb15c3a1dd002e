import { describe, expect, it } from "vitest";
import { spokenOf, withoutHurried, type Spoken } from "../../src/dataset/pack/pace.ts";
import { entryOf, shuffled } from "./entries.ts";

/** An answer of `characters` that takes `seconds`. */
const answer = (characters: number, seconds: number, voice = 0, turn = 0): Spoken => [
  turn,
  voice,
  characters,
  Math.round(seconds * 1000),
];
/** Dialogues of a role that speaks 13 to 17 characters a second. */
const usual = (count: number, roleId = "thor", pace = 1): ReturnType<typeof entryOf>[] =>
  Array.from({ length: count }, (_, index) =>
    entryOf(`${roleId}-${index}`, { roleId, spoken: [answer(60, 60 / ((13 + (index % 5)) * pace))] }),
  );
const judge = (entries: readonly ReturnType<typeof entryOf>[], factor: number | null = 1.8): string[] =>
  withoutHurried({ entries, drops: [] }, factor).drops.map(
    ({ reason, dialogue, turn, detail }) => `${reason} ${dialogue} turn ${turn}: ${detail}`,
  );

describe("answers that were cut off", () => {
  it("are found by the usual pace of their role, where no fixed bound finds them", () => {
    const cut = entryOf("cut", { spoken: [answer(60, 4), answer(324, 13.5, 0, 1)] });
    const survey = {
      entries: [...usual(20), cut, entryOf("whole", { spoken: [answer(324, 27)] })],
      drops: [],
    };
    const found = withoutHurried(survey, 1.5);
    expect(found.entries).toHaveLength(21);
    expect(found.drops).toEqual([
      {
        reason: "speech_cut_off",
        role: "Thor",
        dialogue: 'train/single/Thor.json: "question of cut"',
        turn: 1,
        detail:
          "324 characters in 13.50 s of cosyvoice2, 24.0 a second, where half of the answers of this role have fewer than 15.0",
        pool: "train",
      },
    ]);
    expect(judge(survey.entries, 1.7)).toEqual([]);
    expect(judge(survey.entries, null)).toEqual([]);
  });

  it("are judged by their own voice: a fast one is no fault", () => {
    const fast = usual(20, "thor", 2).map((entry) =>
      entryOf(`fast-${entry.id}`, { spoken: entry.spoken.map(([turn, , ...rest]) => [turn, 1, ...rest]) }),
    );
    expect(judge([...usual(20), ...fast])).toEqual([]);
    expect(judge([...usual(20), entryOf("one", { spoken: [answer(60, 2)] })])).toHaveLength(1);
  });

  it("are judged by their language where the role has few answers, and by nothing where that has few", () => {
    const rare = entryOf("rare", { roleId: "loki", stem: "Loki", spoken: [answer(60, 2)] });
    expect(judge([...usual(20), rare])).toEqual([
      expect.stringContaining("of this language have fewer than"),
    ]);
    expect(judge([...usual(18), rare])).toEqual([]);
    expect(
      judge([...usual(30), entryOf("zh", { roleId: "li", language: "zh", spoken: [answer(60, 2)] })]),
    ).toEqual([]);
  });

  it("are not looked for in short answers, which have a pace of their own", () => {
    expect(judge([...usual(20), entryOf("hm", { spoken: [answer(29, 0.5)] })])).toEqual([]);
    expect(judge([...usual(20), entryOf("no samples", { spoken: [answer(60, 0)] })])).toEqual([]);
  });

  it("are the same for any order", () => {
    const entries = [...usual(40), ...usual(5, "loki", 2), entryOf("cut", { spoken: [answer(100, 3)] })];
    expect(judge(shuffled(entries)).toSorted()).toEqual(judge(entries).toSorted());
    expect(judge(entries).length).toBeGreaterThan(1);
  });
});

it("counts a Latin letter between Chinese as a third of a character, and no signs", () => {
  const seconds = { cosyvoice2: 1.2346, e2_tts: 2 };
  expect(spokenOf("zh", [{ text: "我用Windows，你呢？", seconds }])).toEqual([
    [0, 0, 6, 1235],
    [0, 2, 6, 2000],
  ]);
  expect(spokenOf("en", [{ text: "Well, you 2!", seconds: { f5_tts: 1 } }])).toEqual([[0, 1, 8, 1000]]);
});
