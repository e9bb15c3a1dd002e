import { z } from "zod";

const count = z.int().nonnegative();

/** Where a dialogue stands in its source, enough to read it again. */
export const Place = z.strictObject({
  /** Relative to the source folder, with forward slashes. */
  file: z.string(),
  index: count,
  start: count,
  end: count,
});
export type Place = z.infer<typeof Place>;
