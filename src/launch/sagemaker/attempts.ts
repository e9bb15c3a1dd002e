import { z } from "zod";
import { parseJson } from "../../core/files.ts";
import { WrapperResult } from "../schema.ts";
import type { Bucket } from "./bucket.ts";
import { attemptOfKey } from "./keys.ts";

/** What is asked of the bucket here. */
export type AttemptBucket = Pick<Bucket, "name" | "readText">;

/** What the adapter writes when an attempt begins. */
const Begun = z.looseObject({
  schemaVersion: z.literal(1),
  marker: z.string(),
  token: z.string(),
  /** Name of the training job. */
  job: z.string(),
  startedAt: z.iso.datetime(),
});
export type Begun = z.infer<typeof Begun>;

/** Who has begun an attempt, or undefined while nobody has. Throws when the record cannot be read. */
export const begunAttempt = async (bucket: AttemptBucket, folder: string): Promise<Begun | undefined> => {
  const key = `${folder}/supervisor.json`;
  const text = await bucket.readText(key);
  return text === undefined ? undefined : parseJson(text, Begun, `s3://${bucket.name}/${key}`);
};

/** How an attempt ended, as its adapter says; null when it has left no word. Throws when the record is another's. */
export const attemptResult = async (
  bucket: AttemptBucket,
  folder: string,
  marker: string,
): Promise<WrapperResult | null> => {
  const key = `${folder}/result.json`;
  const text = await bucket.readText(key);
  if (text === undefined) return null;
  const result = parseJson(text, WrapperResult, `s3://${bucket.name}/${key}`);
  if (result.marker !== marker) throw new Error(`s3://${bucket.name}/${key} belongs to ${result.marker}`);
  return result;
};

/** The attempt after this one, when the same job has begun it by itself (a spot restart). */
export const nextAttempt = async (
  bucket: AttemptBucket,
  ref: { readonly folder: string; readonly job: string },
): Promise<{ readonly folder: string; readonly number: number; readonly begun: Begun } | undefined> => {
  const { run, number } = attemptOfKey(ref.folder);
  const folder = `${run}/attempts/${number + 1}`;
  const begun = await begunAttempt(bucket, folder);
  return begun === undefined || begun.job !== ref.job ? undefined : { folder, number: number + 1, begun };
};
