import type { JobKind } from "../launch/index.ts";
import type { Recipe } from "../recipe/index.ts";
import { distinct, scoring, type PlannedCell } from "./evaluation-tasks.ts";
import { taskProof } from "./proof.ts";
import type { Proof } from "./run-lock.ts";

export type EvaluationKind = Extract<JobKind, "score" | "infer" | "measure">;

/** In this order: measures are taken of answers. */
export const EVALUATION_KINDS: readonly EvaluationKind[] = ["score", "infer", "measure"];

const FILES: Readonly<Record<EvaluationKind, string>> = {
  score: "scores.jsonl",
  infer: "answers.jsonl",
  measure: "measures.jsonl",
};

/** A task as the payload's manifest has it. */
interface TaskManifest {
  readonly system: { readonly id: string; readonly checkpoint: string | null; readonly speaker: string };
  readonly suite: {
    readonly id: string;
    readonly shards: readonly string[];
    readonly roles: readonly string[];
  };
  /** Folder of the rows. */
  readonly output: string;
  /** Folder of the answers that measures are taken of. */
  readonly answers?: string;
}

interface TaskRecord {
  readonly manifest: TaskManifest;
  readonly proof: Extract<Proof, { kind: "tasks" }>["tasks"][number];
}

/** A task that is not finished, and why not. */
export interface OpenTask extends TaskRecord {
  readonly problem: string;
}

/** The tasks of a kind that are not finished yet, as manifest entries with their proofs. */
export const openTasks = async (
  kind: EvaluationKind,
  cells: readonly PlannedCell[],
): Promise<readonly OpenTask[]> => {
  const records = distinct(cells).map((cell) => recordOf(kind, cell));
  const looked = await Promise.all(
    records.map(async (record) => ({ record, found: await taskProof(record.proof) })),
  );
  return looked.flatMap(({ record, found }) => (found.holds ? [] : [{ ...record, problem: found.detail }]));
};

/** Where the rows of a kind are kept. */
export const folderOf = (kind: EvaluationKind, { scores, answers, measures }: PlannedCell): string =>
  ({ score: scores, infer: answers, measure: measures })[kind];

function recordOf(kind: EvaluationKind, cell: PlannedCell): TaskRecord {
  const { system, planned, answers } = cell;
  const folder = folderOf(kind, cell);
  const rows = kind === "measure" ? null : planned.expected.length;
  const proof = { folder, file: FILES[kind], rows, answers: kind === "measure" ? answers : null };
  return {
    proof,
    manifest: {
      system: { id: system.id, checkpoint: system.checkpoint, speaker: system.speaker },
      suite: { id: planned.suite.id, shards: planned.shards, roles: planned.suite.roles },
      output: folder,
      ...(kind === "measure" ? { answers } : {}),
    },
  };
}

/** The payload's manifest of an evaluation job, without what the launcher adds. Pure. */
export const evaluationManifest = (
  kind: EvaluationKind,
  inputs: {
    readonly recipe: Recipe;
    readonly model: { readonly path: string; readonly revision: string };
    readonly device: "auto" | "cpu" | "cuda";
    readonly run: string;
    readonly tasks: readonly TaskRecord[];
  },
): Readonly<Record<string, unknown>> => ({
  schemaVersion: 1,
  kind,
  run: inputs.run,
  device: inputs.device,
  model: inputs.model,
  prompt: { preamble: inputs.recipe.prompt.preamble },
  tasks: inputs.tasks.map(({ manifest }) => manifest),
  ...(kind === "score" ? { scoring: scoring(inputs.recipe) } : {}),
  ...(kind === "infer" ? { decoding: inputs.recipe.evaluation.decoding } : {}),
});
