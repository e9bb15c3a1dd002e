import { z } from "zod";
import { InternalError } from "../core/errors.ts";
import { prettyIssues } from "../core/issues.ts";
import { JobEnvironment, JobInput, JobKind, LauncherProfile, type Job } from "../launch/index.ts";
import { Origin, ResolvedRecipe } from "../recipe/index.ts";
import type { Run } from "../track/index.ts";

/** What must be there before a run may be called succeeded. */
export const Proof = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("train"),
    /** The planned stop: a complete, verified checkpoint of exactly this step. */
    steps: z.int().positive(),
  }),
  z.strictObject({
    kind: z.literal("tasks"),
    /**
     * Folders whose `_DONE.json` must hold for their rows; `rows` null where the number is not known before, `answers` the
     * folder that measures are taken of.
     */
    tasks: z.array(
      z.strictObject({
        folder: z.string(),
        file: z.string(),
        rows: z.int().nonnegative().nullable(),
        answers: z.string().nullable(),
      }),
    ),
  }),
]);
export type Proof = z.infer<typeof Proof>;

const JobShape = z.strictObject({
  kind: JobKind,
  runId: z.string(),
  runFolder: z.string(),
  manifest: z.record(z.string(), z.unknown()),
  python: z.string(),
  payload: z.string(),
  profile: LauncherProfile,
  diskBytes: z.number(),
  secrets: z.array(z.string()),
  // Locks written before jobs could run elsewhere have neither.
  inputs: z.array(JobInput).default([]),
  environment: JobEnvironment.nullable().default(null),
  secondsPerStep: z.number().optional(),
});

/** Recipe + profile + environment + code: what a run can be repeated from. Stored with the run, never changed. */
export const RunLock = z.strictObject({
  schemaVersion: z.literal(1),
  job: JobShape,
  proof: Proof,
  profileName: z.string(),
  resolved: ResolvedRecipe.nullable(),
  /** Commit of the project and what was not committed; `dirty` null where git could not tell. Null outside of git. */
  git: z
    .strictObject({ commit: z.string(), dirty: z.boolean().nullable(), patchSha256: z.string().nullable() })
    .nullable(),
  /** Where each value of the recipe comes from, by its path. */
  origins: z.record(z.string(), Origin).default({}),
  /** Preflight findings that were overruled. */
  forced: z.array(z.string()),
});
export type RunLock = z.infer<typeof RunLock>;

/** The lock of a run. InternalError when the database holds something else. */
export const lockOf = (run: Run): RunLock => {
  const parsed = RunLock.safeParse(run.lock);
  if (parsed.success) return parsed.data;
  throw new InternalError(
    "RUN_LOCK_INVALID",
    `The lock of run ${run.id} cannot be read:\n${prettyIssues(parsed.error)}`,
  );
};

/** The job as the launcher wants it. */
export const jobOf = (run: Run): Job => lockOf(run).job;
