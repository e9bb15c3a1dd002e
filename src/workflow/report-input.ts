import { listCheckpoints, selectCheckpoints } from "../checkpoint/index.ts";
import { InternalError } from "../core/errors.ts";
import {
  REFERENCE_BACKENDS,
  wavClip,
  type Dialogue,
  type OpenDataset,
  type ReferenceBackend,
} from "../dataset/index.ts";
import type { Evaluation } from "../evaluate/index.ts";
import type {
  AudioSource,
  LossPoint,
  ReportCheckpoint,
  ReportDialogue,
  ReportInput,
} from "../report/index.ts";
import { provenanceOf } from "./provenance.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";

/** Everything the report of a run is made from: rows, checkpoints, losses, texts and where the audio is. */
export const reportInput = async (
  shop: Shop,
  dataset: OpenDataset,
  { runId, evaluation }: { readonly runId: string; readonly evaluation: Evaluation },
): Promise<ReportInput> => {
  const run = shop.store.getRun(runId);
  const { resolved } = lockOf(run);
  if (resolved === null) throw new InternalError("RUN_NOT_TRAINED", `Run ${runId} has no recipe`);
  const manifests = await listCheckpoints(shop.project, runId);
  const { candidates } = selectCheckpoints(manifests);
  return {
    run: runId,
    ...(resolved.recipe.model.kind === "tiny" ? { notice: TOY } : {}),
    recipe: resolved.recipe.name,
    evaluation,
    comparison: { base: "base", chosen: "lowest-dev-loss", last: "last" },
    selection: { candidates, set: "dev", rule: "lowest dev loss" },
    checkpoints: manifests.map(({ id, step, metrics, weightsDigest }): ReportCheckpoint => ({
      id,
      step,
      devLoss: metrics.devLoss,
      trainLoss: metrics.trainLoss,
      label: `step ${step}`,
      weightsDigest,
    })),
    losses: losses(shop, runId),
    trainingRoles: resolved.trainingRoles,
    roles: dataset.lock.roles.map(({ id, name, language, source }) => ({ id, name, language, source })),
    dialogues: await testDialogues(dataset),
    limits: {
      textTokens: resolved.recipe.evaluation.decoding.maxNewTokens,
      seconds: resolved.recipe.evaluation.decoding.talkerMaxNewTokens / CODES_PER_SECOND,
    },
    provenance: provenanceOf(shop, run, dataset.lock),
  };
};

const TOY =
  "The model is tiny and random, and so is its voice: these numbers show that the machinery works, never that a recipe is good.";

/** The talker's codec. */
const CODES_PER_SECOND = 50;

function losses(shop: Shop, runId: string): readonly LossPoint[] {
  const points = new Map<number, LossPoint>();
  for (const { step, value } of shop.store.series(runId, "train/loss"))
    points.set(step, { step, train: value });
  for (const { step, value } of shop.store.series(runId, "dev/loss")) {
    points.set(step, { ...points.get(step), step, dev: value });
  }
  return [...points.values()].toSorted((a, b) => a.step - b.step);
}

async function testDialogues(dataset: OpenDataset): Promise<readonly ReportDialogue[]> {
  const dialogues: ReportDialogue[] = [];
  const clips = lazyClips(dataset);
  for await (const { id } of dataset.texts("test"))
    dialogues.push(asReported(await dataset.dialogue(id), clips));
  return dialogues;
}

type ClipOf = (id: string, turn: number, which: "user" | ReferenceBackend) => AudioSource;

// Read when the report is written, one dialogue at a time: a whole test set need not lie in memory.
function lazyClips(dataset: OpenDataset): ClipOf {
  let latest: { readonly id: string; readonly dialogue: Promise<Dialogue> } | undefined;
  return (id, turn, which) => ({
    kind: "read",
    read: async () => {
      if (latest?.id !== id) latest = { id, dialogue: dataset.dialogue(id) };
      const found = (await latest.dialogue).turns[turn];
      const clip = which === "user" ? found?.userAudio : found?.roleAudio[which];
      if (clip) return (await wavClip(clip)).bytes;
      throw new InternalError("CLIP_GONE", `Turn ${turn} of dialogue ${id} has no ${which} audio any more`);
    },
  });
}

const EXCERPT = 400;

function asReported(
  { id, roleId, language, kind, systemPrompt, turns }: Dialogue,
  clipOf: ClipOf,
): ReportDialogue {
  return {
    id,
    role: roleId,
    language,
    kind,
    cardExcerpt: (systemPrompt ?? "").slice(0, EXCERPT),
    turns: turns.map(({ index, userText, roleText, roleAudio }) => ({
      turn: index,
      userText,
      userAudio: clipOf(id, index, "user"),
      roleText,
      references: REFERENCE_BACKENDS.filter((label) => roleAudio[label] !== null).map((label) => ({
        label,
        audio: clipOf(id, index, label),
      })),
    })),
  };
}
