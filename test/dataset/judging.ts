import { join, resolve } from "node:path";
import { expect } from "vitest";
import { z } from "zod";
import { isFlac } from "../../src/audio/index.ts";
import { parseJson } from "../../src/core/files.ts";
import { sha256 } from "../../src/core/hash.ts";
import { runProgram, type CommandResult } from "../../src/core/process.ts";
import type { Project } from "../../src/core/project.ts";
import {
  openDataset,
  openShard,
  SPLITS,
  wavClip,
  type Clip,
  type Dialogue,
  type Split,
} from "../../src/dataset/index.ts";

const Judgement = z.object({
  version: z.string(),
  splits: z.record(
    z.string(),
    z.object({
      audio: z.array(z.string()),
      features: z.record(z.string(), z.string()).optional(),
      agree: z.boolean().optional(),
      content: z.array(z.boolean()).optional(),
      rows: z.array(z.unknown()).optional(),
    }),
  ),
});
type Judgement = z.infer<typeof Judgement>;

export const AUDIO_COLUMNS = [
  "user_audio",
  "role_audio_cosyvoice2",
  "role_audio_f5_tts",
  "role_audio_e2_tts",
];

const clip = async (value: Clip | null): Promise<unknown> =>
  value && {
    sha256: sha256(value.bytes),
    pcm: sha256((await wavClip(value)).bytes.subarray(44)),
    path: value.path,
  };

/** A dialogue as the judges say it. */
export const asRow = async (dialogue: Dialogue): Promise<unknown> => ({
  id: dialogue.id,
  role_id: dialogue.roleId,
  role_name: dialogue.roleName,
  language: dialogue.language,
  role_source: dialogue.roleSource,
  kind: dialogue.kind,
  category: dialogue.category,
  system_prompt: dialogue.systemPrompt,
  context: dialogue.context,
  num_turns: dialogue.turns.length,
  audio_seconds: dialogue.audioSeconds,
  turns: await Promise.all(
    dialogue.turns.map(async (turn) => ({
      index: turn.index,
      user_text: turn.userText,
      user_audio: await clip(turn.userAudio),
      role_text: turn.roleText,
      role_audio_cosyvoice2: await clip(turn.roleAudio.cosyvoice2),
      role_audio_f5_tts: await clip(turn.roleAudio.f5_tts),
      role_audio_e2_tts: await clip(turn.roleAudio.e2_tts),
    })),
  ),
  content_sha256: dialogue.contentSha256,
});

/** Every row of a packed data set by split, as this program reads it, and its shard files; splits without shards are left out. */
export const ownRows = async (
  project: Project,
  name: string,
): Promise<ReadonlyMap<Split, { readonly paths: readonly string[]; readonly rows: readonly unknown[] }>> => {
  const dataset = await openDataset(project, name);
  const { shards } = dataset;
  await dataset.close();
  const found = new Map<Split, { paths: readonly string[]; rows: unknown[] }>();
  for (const split of SPLITS.filter((each) => shards[each].length > 0)) {
    const rows: unknown[] = [];
    for (const path of shards[split]) {
      const shard = await openShard(path);
      for await (const dialogue of shard.dialogues()) rows.push(await asRow(dialogue));
      await shard.close();
    }
    found.set(split, { paths: shards[split], rows });
  }
  return found;
};

/** True when every clip of the data set's first dialogue is FLAC: so that a test of FLAC is one. */
export const storesFlac = async (project: Project, name: string): Promise<boolean> => {
  const dataset = await openDataset(project, name);
  const shard = await openShard(dataset.shards.test[0] ?? "");
  const { turns } = await shard.row(0);
  await shard.close();
  await dataset.close();
  return turns.every((turn) => isFlac(turn.userAudio.bytes) && turn.userAudio.path.endsWith(".flac"));
};

/** Runs a Python program beside the tests, offline, with a cache of its own in `folder`. */
export const runPython = async (
  python: string,
  folder: string,
  words: readonly string[],
): Promise<CommandResult> =>
  runProgram([python, ...words], {
    cwd: folder,
    env: {
      HF_HOME: join(folder, "cache"),
      HF_HUB_OFFLINE: "1",
      HF_DATASETS_OFFLINE: "1",
      HOME: folder,
      PYTHONDONTWRITEBYTECODE: "1",
    },
  });

/** What judge.py says. */
export const askJudge = async (
  python: string,
  folder: string,
  words: readonly string[],
): Promise<Judgement> => {
  const [flag, ...rest] = words;
  const cache = join(folder, "cache");
  const argv = flag === "--features" ? [flag, cache, ...rest] : [cache, ...words];
  const { exitCode, stdout, stderr } = await runPython(python, folder, [
    resolve(import.meta.dirname, "judge.py"),
    ...argv,
  ]);
  expect(exitCode, stderr).toBe(0);
  return parseJson(stdout, Judgement, "judge.py");
};

/** Lets judge.py read every field of every row, and compares all of it with what this program reads. */
export const judgeWith = async (
  python: string,
  project: Project,
  { name, words }: { readonly name: string; readonly words?: readonly string[] },
): Promise<Judgement> => {
  const own = await ownRows(project, name);
  const files = [...own].map(([split, { paths }]) => `${split}=${paths.join(",")}`);
  const found = await askJudge(python, project.root, words ?? files);
  expect(Object.keys(found.splits).toSorted()).toEqual([...own.keys()].toSorted());
  for (const [split, { rows }] of own) {
    expect(rows.length).toBeGreaterThan(0);
    expect(found.splits[split]?.rows).toEqual(rows);
    expect(found.splits[split]).toMatchObject({
      agree: true,
      audio: AUDIO_COLUMNS,
      content: rows.map(() => true),
    });
  }
  return found;
};
