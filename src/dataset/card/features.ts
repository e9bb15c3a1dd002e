import { z } from "zod";
import { UserError } from "../../core/errors.ts";
import { parseJson } from "../../core/files.ts";

/** A feature in the form of a data set card. */
export type CardFeature =
  | { readonly name: string; readonly dtype: string | { readonly audio: { readonly sampling_rate: number } } }
  | { readonly name: string; readonly list: readonly CardFeature[] };

const Leaf = z.union([
  z.object({ _type: z.literal("Value"), dtype: z.string() }).transform(({ dtype }) => ({ dtype })),
  z
    .object({ _type: z.literal("Audio"), sampling_rate: z.int() })
    .transform(({ sampling_rate }) => ({ dtype: { audio: { sampling_rate } } })),
]);
const Struct = z
  .record(z.string(), Leaf)
  .transform((fields) => Object.entries(fields).map(([name, leaf]): CardFeature => ({ name, ...leaf })));
// The first as `datasets` 4 and later say it, the second as all versions do.
const Listed = z.union([
  z.object({ _type: z.literal("List"), feature: Struct }).transform(({ feature }) => ({ list: feature })),
  z.tuple([Struct]).transform(([list]) => ({ list })),
]);
const Footer = z.object({
  info: z.object({ features: z.record(z.string(), z.union([Leaf, Listed])) }),
});

/** The features that a Parquet footer describes, in the order of the columns. UserError `SHARD_UNREADABLE`. */
export const cardFeatures = (footer: string): readonly CardFeature[] => {
  try {
    const { features } = parseJson(footer, Footer, "the footer").info;
    return Object.entries(features).map(([name, feature]) => ({ name, ...feature }));
  } catch (error) {
    throw new UserError("SHARD_UNREADABLE", "The footer of the shards describes no features of dialogues", {
      hint: "pack the data set again",
      cause: error,
    });
  }
};
