import { join } from "node:path";
import {
  suiteDigest,
  systemDigest,
  taskKey,
  type Instance,
  type JsonValue,
  type Suite,
  type System,
  type TaskIdentity,
} from "../evaluate/index.ts";
import type { Recipe } from "../recipe/index.ts";

/** A suite with what is needed to run and to check it. */
export interface PlannedSuite {
  readonly suite: Suite;
  /** Absolute paths of the shards, and their digests. */
  readonly shards: readonly string[];
  readonly shardDigests: readonly string[];
  readonly expected: readonly Instance[];
}

/** One system on one suite: where the rows of each kind are kept. Folders are content addresses. */
export interface PlannedCell {
  readonly system: System;
  readonly planned: PlannedSuite;
  readonly scores: string;
  readonly answers: string;
  readonly measures: string;
}

export interface EvaluationSettings {
  readonly recipe: Recipe;
  readonly payloadDigest: string;
  /** Folder that holds the task folders. */
  readonly folder: string;
}

/** Systems × suites with their task folders. Equal model states share folders, so they can only differ by exactly 0. Pure. */
export const planCells = (
  systems: readonly System[],
  suites: readonly PlannedSuite[],
  settings: EvaluationSettings,
): readonly PlannedCell[] =>
  systems.flatMap((system) => suites.map((planned) => cell(system, planned, settings)));

function cell(
  system: System,
  planned: PlannedSuite,
  { recipe, payloadDigest, folder }: EvaluationSettings,
): PlannedCell {
  const decoding: JsonValue = { ...recipe.evaluation.decoding };
  const identity = (kind: TaskIdentity["kind"], settings: JsonValue): string =>
    join(
      folder,
      taskKey({
        kind,
        systemDigest: systemDigest(system, { decoding, preamble: recipe.prompt.preamble }),
        suiteDigest: suiteDigest(planned.suite, planned.shardDigests),
        settings,
        payloadDigest,
      }),
    );
  return {
    system,
    planned,
    scores: identity("score", scoring(recipe)),
    answers: identity("infer", decoding),
    measures: identity("measure", decoding),
  };
}

/** The payload's scoring settings of a recipe. */
export const scoring = (recipe: Recipe): { readonly batch: number; readonly precision: "bf16" | "fp32" } => ({
  batch: recipe.evaluation.scoreBatch,
  precision: recipe.training.precision,
});

/** The first cell of each folder: two names for one model state are one piece of work. */
export const distinct = (cells: readonly PlannedCell[]): readonly PlannedCell[] =>
  [...new Map(cells.toReversed().map((one) => [one.scores, one])).values()].toReversed();
