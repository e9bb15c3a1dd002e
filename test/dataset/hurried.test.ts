import { expect, it } from "vitest";
import { packDataset, type DatasetLock } from "../../src/dataset/index.ts";
import { data, fmt, riff, s16, sine } from "../audio/build-wav.ts";
import { projectWith, type Corpus } from "./corpus.ts";

const CLIP = "train/multi_speech/Thor/1_1_role.wav";

// Every answer is as long as the others, and so is its clip; of one only two fifths are there.
const withPartOfAnAnswer = (checks: object) => (corpus: Corpus) => {
  for (const dialogues of corpus.dialogues.values())
    for (const { dialogue } of dialogues)
      for (const turn of dialogue) turn.role = `${turn.role} And on it goes, for as long as anybody listens.`;
  corpus.files.set(CLIP, riff([fmt(), data(s16(sine(440, 16_000, { seconds: 0.02 })))]));
  corpus.spec["checks"] = { ...Object(corpus.spec["checks"]), ...checks };
};
const dropsOf = async (checks: object): Promise<DatasetLock["drops"]["list"]> => {
  const project = await projectWith(withPartOfAnAnswer(checks));
  return (await packDataset({ project, name: "small" })).lock.drops.list;
};

it("leaves out a dialogue with a part of an answer, counted and listed", async () => {
  expect(await dropsOf({})).toEqual([
    {
      reason: "speech_cut_off",
      role: "Thor",
      dialogue: expect.stringContaining("train/multi/Thor.json: "),
      turn: 1,
      detail: expect.stringMatching(
        /^\d+ characters in 0\.02 s of cosyvoice2, .* of this language have fewer/,
      ),
    },
  ]);
});

it("keeps it where nobody wants it looked for", async () => {
  expect(await dropsOf({ hurried: null })).toEqual([]);
});

it("stops at it when strict", async () => {
  const project = await projectWith(withPartOfAnAnswer({}));
  await expect(packDataset({ project, name: "small", strict: true })).rejects.toMatchObject({
    code: "DIALOGUE_BAD",
    message: expect.stringContaining("turn 2: speech_cut_off: "),
  });
});
