import { z } from "zod";
import { parseJson } from "../../core/files.ts";
import type { AccountedJob } from "./sacct.ts";
import { YOUNG } from "./sacct.ts";

/** Seconds. Clocks of this machine and of the cluster differ; ids are handed out again only after millions of jobs. */
export const CLOCK_TOLERANCE = 5 * 60;

const Comment = z.looseObject({ marker: z.string(), link: z.int().positive() });

/** What all attempts of a run have in common in their markers: `us-RUN` of `us-RUN-a3`. */
export const stemOf = (marker: string): string => marker.replace(/-a\d+$/, "");

/** Number of the attempt in a marker; 0 when it has none. */
export const numberOf = (marker: string): number => Number(/-a(\d+)$/.exec(marker)?.[1] ?? 0);

/** True when an attempt with the token `other` is one of the submission whose first attempt has `token`. */
export const isTokenOf = (token: string, other: string): boolean =>
  other === token || other.startsWith(`${token}.`);

/**
 * True when a job of this name may run that attempt: links and requeues of a chain go on under the name of the attempt with
 * which it was submitted.
 */
export const mayRun = (name: string, marker: string): boolean =>
  stemOf(name) === stemOf(marker) && numberOf(name) > 0 && numberOf(name) <= numberOf(marker);

/** Which link of which chain a job is, from its comment; undefined when the comment is not ours. */
export const linkOf = (comment: string): { readonly marker: string; readonly link: number } | undefined => {
  try {
    return parseJson(comment, Comment, "the comment of a job");
  } catch {
    return undefined;
  }
};

/** `ours`, `young` (its name has not reached the accounts yet) or `foreign`: another job had this id before. */
export const ownership = (
  row: AccountedJob,
  marker: string,
  submittedAt: number,
): "ours" | "young" | "foreign" => {
  const recent = row.submit !== null && row.submit >= submittedAt / 1000 - CLOCK_TOLERANCE;
  if (!recent) return "foreign";
  if (mayRun(row.name, marker)) return "ours";
  return row.name === YOUNG || row.name === "" ? "young" : "foreign";
};
