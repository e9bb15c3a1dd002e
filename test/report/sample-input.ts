import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { sha256 } from "../../src/core/hash.ts";
import type { Evaluation, SuiteId, SuiteResult } from "../../src/evaluate/index.ts";
import type { ReportDialogue, ReportInput, ReportRole } from "../../src/report/index.ts";
import {
  exchangeOf,
  noise,
  sampleAnswer,
  sampleInstances,
  sampleMeasures,
  sampleScore,
  sampleSeconds,
  type SampleSystem,
} from "./sample-rows.ts";
import { SEEN, UNSEEN } from "./sample-texts.ts";
import { sampleWav } from "./sample-wav.ts";

export interface SampleOptions {
  readonly seen?: readonly ReportRole[];
  readonly unseen?: readonly ReportRole[];
  readonly systems?: readonly SampleSystem[];
}

const SYSTEMS: readonly SampleSystem[] = [
  { id: "base", gain: { "test/seen": 0, "test/unseen": 0 }, voice: 0 },
  { id: "step-1500", gain: { "test/seen": 0.42, "test/unseen": 0.2 }, voice: 1 },
  { id: "step-2500", gain: { "test/seen": 0.4, "test/unseen": 0.08 }, voice: 2 },
];

/** A realistic input of 17 roles in two languages. Answers with real audio are written under `folder`. */
export const sampleInput = async (folder: string, options: SampleOptions = {}): Promise<ReportInput> => {
  const { seen = SEEN, unseen = UNSEEN, systems = SYSTEMS } = options;
  const [base = SYSTEMS[0], chosen = base, last = chosen] = systems;
  if (base === undefined || chosen === undefined || last === undefined) throw new Error("no system");
  const results: SuiteResult[] = [];
  for (const system of systems) {
    results.push(await resultOf(folder, system, { suite: "test/seen", roles: seen }));
    results.push(await resultOf(folder, system, { suite: "test/unseen", roles: unseen }));
  }
  return {
    run: "speechrole-agent-7f3a",
    recipe: "speechrole-agent",
    evaluation: { ...evaluationOf(systems), results },
    comparison: { base: base.id, chosen: chosen.id, last: last.id },
    selection: { candidates: 5, set: "dev", rule: "lowest dev loss" },
    checkpoints: [500, 1000, 1500, 2000, 2500].map((step) => ({
      id: `speechrole-agent-7f3a@${step}`,
      step,
      devLoss: devLoss(step),
      trainLoss: trainLoss(step),
      label: `step ${step}`,
      weightsDigest: digestOfStep(step),
    })),
    losses: [
      ...Array.from({ length: 125 }, (_, index) => ({
        step: (index + 1) * 20,
        train: trainLoss((index + 1) * 20),
      })),
      ...[500, 1000, 1500, 2000, 2500].map((step) => ({ step, dev: devLoss(step) })),
    ],
    trainingRoles: seen.map(({ id }) => id),
    roles: [...seen, ...unseen],
    dialogues: [...seen, ...unseen].flatMap(dialoguesOf),
    provenance: PROVENANCE,
  };
};

const evaluationOf = (systems: readonly SampleSystem[]): Evaluation => ({
  id: "eval-0c21",
  systems: systems.map(({ id }) => {
    const step = id === "base" ? null : Number(id.split("-")[1]);
    const words = id === "step-1500" ? "lowest dev loss (step 1,500)" : "last checkpoint (step 2,500)";
    return {
      id,
      label: step === null ? "base model" : words,
      step,
      checkpoint: step === null ? null : `checkpoint-${step}`,
      weightsDigest: step === null ? sha256("base") : digestOfStep(step),
      speaker: "Ethan",
    };
  }),
  results: [],
  judge: { status: "none", reason: "this machine has no judge endpoint" },
});

const digestOfStep = (step: number): string => sha256(`weights ${step}`);

const devLoss = (step: number): number =>
  Number((2.62 - 0.42 * (1 - Math.exp(-step / 600)) + 0.03 * Math.max(0, (step - 1500) / 1000)).toFixed(4));

const trainLoss = (step: number): number =>
  Number((2.05 + 0.95 * Math.exp(-step / 700) + 0.06 * noise(`step ${step}`)).toFixed(4));

async function resultOf(
  folder: string,
  system: SampleSystem,
  { suite, roles }: { readonly suite: SuiteId; readonly roles: readonly ReportRole[] },
): Promise<SuiteResult> {
  const expected = sampleInstances(roles);
  const answersFolder = join(folder, "answers", system.id, suite);
  await mkdir(join(answersFolder, "audio"), { recursive: true });
  const answers = [];
  for (const at of expected) {
    // One answer is missing altogether and two are spoilt: a report must show such things.
    if (system.id === "step-2500" && at.dialogue === "shrek-single-0") continue;
    const row = sampleAnswer(at, system);
    const bytes = sampleWav(sampleSeconds(at, system), 170 + 60 * system.voice + 30 * noise(at.role));
    await writeFile(join(answersFolder, row.audio ?? ""), bytes);
    answers.push({ ...row, sha256: sha256(bytes), failure: failureOf(system.id, at.dialogue, at.turn) });
  }
  return {
    system: system.id,
    suite,
    expected,
    scores: expected.map((at) => sampleScore(at, system, suite)),
    answers,
    measures: answers.flatMap((at) => sampleMeasures(bare(at), system)),
    answersFolder,
  };
}

const bare = ({ dialogue, role, language, kind, turn }: SuiteResult["expected"][number]) => ({
  dialogue,
  role,
  language,
  kind,
  turn,
});

function failureOf(system: string, dialogue: string, turn: number): { code: string; message: string } | null {
  if (system === "step-2500" && dialogue === "luna-multi-0" && turn === 1)
    return { code: "SPEECH_FAILED", message: "RuntimeError: the talker lost its place" };
  if (system === "base" && dialogue === "wukong-single-0")
    return { code: "NO_AUDIO", message: "the talker ended before its first code" };
  return null;
}

function dialoguesOf({ id, name, source, language }: ReportRole): readonly ReportDialogue[] {
  const card =
    language === "zh"
      ? `你是${name}，来自《${source}》。你说话直来直去，重情义，不爱绕弯子……`
      : `You are ${name} from ${source}. You speak in your own voice, you remember what you have lived through, and you never explain yourself …`;
  const at = (kind: "single" | "multi", turn: number) => ({
    dialogue: `${id}-${kind}-0`,
    role: id,
    language,
    kind,
    turn,
  });
  return (["single", "multi"] as const).map((kind) => ({
    id: `${id}-${kind}-0`,
    role: id,
    language,
    kind,
    cardExcerpt: card,
    turns: (kind === "single" ? [0] : [0, 1]).map((turn) => {
      const exchange = exchangeOf(at(kind, turn));
      return {
        turn,
        userText: exchange.user,
        userAudio: { kind: "bytes", bytes: sampleWav(0.7, 260) },
        roleText: exchange.role,
        references: ["cosyvoice2", "f5_tts", "e2_tts"].map((label, index) => ({
          label,
          audio: { kind: "bytes", bytes: sampleWav(0.8, 200 + 20 * index + 25 * noise(id)) },
        })),
      };
    }),
  }));
}

const PROVENANCE: ReportInput["provenance"] = [
  { group: "Data", name: "dataset lock", value: sha256("lock"), origin: null },
  { group: "Data", name: "source revision", value: "2025-09-17", origin: "file" },
  { group: "Model", name: "base model", value: "Qwen/Qwen2.5-Omni-7B", origin: "file" },
  { group: "Model", name: "revision", value: "ae9e1690543ffd5c0221dc27f79834d0294cba00", origin: "file" },
  { group: "Training", name: "learning rate", value: "1e-4", origin: "paper" },
  { group: "Training", name: "precision", value: "bf16", origin: "paper" },
  { group: "Training", name: "LoRA rank", value: "64", origin: "ours" },
  { group: "Training", name: "global batch", value: "32", origin: "ours" },
  { group: "Training", name: "seed", value: "17", origin: "file" },
  {
    group: "Evaluation",
    name: "decoding",
    value: "greedy, at most 256 text and 1024 codec tokens",
    origin: "ours",
  },
  { group: "Evaluation", name: "payload digest", value: sha256("payload"), origin: null },
];
