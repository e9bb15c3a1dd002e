import { z } from "zod";

export const NearRule = z.enum(["greedy", "components"]);
export type NearRule = z.infer<typeof NearRule>;

export const NearText = z.enum(["first_user", "dialogue"]);
export type NearText = z.infer<typeof NearText>;

const Threshold = z.number().gt(0).lt(1);

/** How near-duplicates are found within a role. The defaults are the ones that the corpus was made with. */
export const NearSettings = z.strictObject({
  rule: NearRule.default("greedy").describe(
    "greedy: keep the first of its like, in the order of ids; components: keep one of each chain of likes",
  ),
  text: NearText.default("first_user").describe(
    "What is compared: the first question, or the whole dialogue (models cut long texts)",
  ),
  pools: z
    .enum(["separate", "together"])
    .default("separate")
    .describe("Are single-turn and multi-turn dialogues compared with each other?"),
  thresholds: z
    .strictObject({ en: Threshold.default(0.9), zh: Threshold.default(0.85) })
    .prefault({})
    .describe("A cosine over this is a near-duplicate; exactly this is none"),
});
export type NearSettings = z.infer<typeof NearSettings>;

/** One removed dialogue and the evidence. */
export const NearRemoval = z.strictObject({
  id: z.string(),
  pivot: z.string().describe("The dialogue that it resembles"),
  cosine: z
    .number()
    .nullable()
    .describe("Of the two texts, float32; null: equal but for form, case, spaces and punctuation"),
  cluster: z.string().describe("The kept dialogue of its cluster, which the cluster is called after"),
});
export type NearRemoval = z.infer<typeof NearRemoval>;
