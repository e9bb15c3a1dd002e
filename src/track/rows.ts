import { z } from "zod";
import { JobKind } from "../launch/index.ts";
import { RunState, type Attempt, type Metric, type Run, type RunEvent } from "./schema.ts";
import type { RunHead } from "./store.ts";

const Json = z.string().transform((text): unknown => JSON.parse(text));

// Long, and seldom looked at: parsed when it is, once.
const parsedLater = (text: string): (() => unknown) => {
  let parsed: { readonly value: unknown } | undefined;
  return () => (parsed ??= { value: JSON.parse(text) as unknown }).value;
};

/** Rows of the tables as the types of the schema. */
export const RunRow = z
  .object({
    id: z.string(),
    kind: JobKind,
    name: z.string(),
    state: RunState,
    reason: z.string(),
    recipe_digest: z.string().nullable(),
    lock: z.string(),
    parent_id: z.string().nullable(),
    pipeline_id: z.string().nullable(),
    stop_requested: z.int(),
    stop_now: z.int(),
    created_at: z.string(),
    updated_at: z.string(),
    last_seen_at: z.string().nullable(),
  })
  .transform((row): Run => {
    const lock = parsedLater(row.lock);
    return {
      id: row.id,
      kind: row.kind,
      name: row.name,
      state: row.state,
      reason: row.reason,
      recipeDigest: row.recipe_digest,
      get lock(): unknown {
        return lock();
      },
      parentId: row.parent_id,
      pipelineId: row.pipeline_id,
      stopRequested: row.stop_requested !== 0,
      stopNow: row.stop_now !== 0,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      lastSeenAt: row.last_seen_at,
    };
  });

export const RunHeadRow = z
  .object({
    id: z.string(),
    kind: JobKind,
    state: RunState,
    reason: z.string(),
    parent_id: z.string().nullable(),
    stop_requested: z.int(),
    stop_now: z.int(),
    last_seen_at: z.string().nullable(),
  })
  .transform(({ parent_id, stop_requested, stop_now, last_seen_at, ...row }): RunHead => ({
    ...row,
    parentId: parent_id,
    stopRequested: stop_requested !== 0,
    stopNow: stop_now !== 0,
    lastSeenAt: last_seen_at,
  }));

export const AttemptRow = z
  .object({
    run_id: z.string(),
    number: z.int(),
    marker: z.string(),
    token: z.string(),
    refs: Json,
    started_at: z.string(),
    ended_at: z.string().nullable(),
    reason: z.string().nullable(),
    exit_code: z.int().nullable(),
    evidence: Json,
  })
  .transform((row): Attempt => ({
    runId: row.run_id,
    number: row.number,
    marker: row.marker,
    token: row.token,
    refs: row.refs,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    reason: row.reason,
    exitCode: row.exit_code,
    evidence: row.evidence,
  }));

export const EventRow = z
  .object({
    sequence: z.int(),
    run_id: z.string(),
    attempt: z.int().nullable(),
    at: z.string(),
    type: z.string(),
    data: Json,
  })
  .transform(({ run_id, ...row }): RunEvent => ({ ...row, runId: run_id }));

export const MetricRow = z
  .object({
    run_id: z.string(),
    attempt: z.int(),
    step: z.int(),
    name: z.string(),
    value: z.number(),
    at: z.string(),
  })
  .transform(({ run_id, ...row }): Metric => ({ ...row, runId: run_id }));
