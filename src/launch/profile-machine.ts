import { z } from "zod";

/** Of every machine that runs jobs. */
export const machine = {
  schemaVersion: z.literal(1),
  description: z.string().optional(),
  device: z.enum(["auto", "cpu", "cuda"]).default("auto"),
  threads: z
    .int()
    .positive()
    .optional()
    .describe("OMP_NUM_THREADS of each process. Default: cores divided by processes"),
  graceSeconds: z
    .int()
    .positive()
    .default(120)
    .describe(
      "How long a graceful stop may take before the job is killed. At least the time that saving a checkpoint takes",
    ),
};
