import { z } from "zod";

const Speed = z
  .tuple([z.number().nonnegative(), z.number().positive()])
  .describe("Least and most characters per second of speech");

export const Checks = z
  .strictObject({
    charactersPerSecond: z
      .strictObject({ en: Speed, zh: Speed })
      .prefault({ en: [4, 40], zh: [1, 15] })
      .describe("An answer outside is taken for cut off or garbled, and its dialogue is dropped"),
    hurried: z
      .number()
      .gt(1)
      .nullable()
      .default(1.8)
      .describe(
        "An answer with this many times the characters per second of the median of its role and voice, or more, is taken for cut off; null: not looked for",
      ),
    answerAudio: z
      .enum(["drop", "keep"])
      .default("drop")
      .describe("What happens to a dialogue with an answer that no clip speaks"),
    wrongLanguage: z
      .enum(["drop", "keep"])
      .default("drop")
      .describe("What happens to a dialogue whose answers are not in the language of its role"),
    metaText: z
      .enum(["drop", "keep"])
      .default("drop")
      .describe("What happens to a dialogue in which the writing model speaks of itself"),
  })
  .prefault({})
  .describe("What a dialogue must be to stay; each drop is counted and listed");
