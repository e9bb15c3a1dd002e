import { join } from "node:path";
import { z } from "zod";
import type { Job, JobKind } from "../schema.ts";

const Training = z.looseObject({
  steps: z.int().positive(),
  saveEverySteps: z.int().positive(),
  evalEverySteps: z.int().positive(),
});

/** Steps of a training job; undefined for other jobs, and where the payload will say what is wrong with the manifest. */
export const trainingOf = (job: Job): z.infer<typeof Training> | undefined => {
  const parsed = Training.safeParse(job.manifest["training"]);
  return job.kind === "train" && parsed.success ? parsed.data : undefined;
};

/** Step of the checkpoint that ends the job; 0 for one without checkpoints. */
export const stepsOf = (job: Job): number => trainingOf(job)?.steps ?? 0;

// A merge has no rows: it is done, or it begins anew.
const ROWS: Readonly<Record<JobKind, string | null>> = {
  train: null,
  merge: null,
  score: "scores.jsonl",
  infer: "answers.jsonl",
  measure: "measures.jsonl",
};

const Tasks = z.looseObject({ tasks: z.array(z.looseObject({ output: z.string() })) });

/** Files of rows that grow while a job without checkpoints gets on. */
export const progressFiles = (job: Job): readonly string[] => {
  const name = ROWS[job.kind];
  const parsed = Tasks.safeParse(job.manifest);
  if (name === null || !parsed.success) return [];
  return parsed.data.tasks.map(({ output }) => join(output, name));
};
