import { cp, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { parseJson } from "../../src/core/files.ts";
import { sha256 } from "../../src/core/hash.ts";
import { runProgram } from "../../src/core/process.ts";
import type { Project } from "../../src/core/project.ts";
import {
  openDataset,
  openShard,
  packDataset,
  SPLITS,
  type Clip,
  type Dialogue,
} from "../../src/dataset/index.ts";
import { testPython } from "../support/python.ts";
import { makeProject, projectWith } from "./corpus.ts";

const python = testPython();
const root = resolve(import.meta.dirname, "../..");

const Judgement = z.record(
  z.string(),
  z.object({
    features: z.record(z.string(), z.string()),
    audio: z.array(z.string()),
    agree: z.boolean(),
    content: z.array(z.boolean()),
    rows: z.array(z.unknown()),
  }),
);
const AUDIO_COLUMNS = ["user_audio", "role_audio_cosyvoice2", "role_audio_f5_tts", "role_audio_e2_tts"];

const clip = (value: Clip | null): unknown =>
  value && { sha256: sha256(value.bytes), pcm: sha256(value.bytes.subarray(44)), path: value.path };

/** A dialogue as the judge prints it. */
const asRow = (dialogue: Dialogue): unknown => ({
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
  turns: dialogue.turns.map((turn) => ({
    index: turn.index,
    user_text: turn.userText,
    user_audio: clip(turn.userAudio),
    role_text: turn.roleText,
    role_audio_cosyvoice2: clip(turn.roleAudio.cosyvoice2),
    role_audio_f5_tts: clip(turn.roleAudio.f5_tts),
    role_audio_e2_tts: clip(turn.roleAudio.e2_tts),
  })),
  content_sha256: dialogue.contentSha256,
});

const judge = async (project: Project, name: string): Promise<void> => {
  const { lock } = await packDataset({ project, name });
  const dataset = await openDataset(project, name);
  const splits = SPLITS.filter((split) => dataset.shards[split].length > 0);
  const files = splits.map((split) => `${split}=${dataset.shards[split].join(",")}`);
  const cache = join(project.root, "cache");
  const { exitCode, stdout, stderr } = await runProgram(
    [python ?? "python", join(import.meta.dirname, "judge.py"), cache, ...files],
    { env: { HF_HOME: cache, HF_HUB_OFFLINE: "1", HF_DATASETS_OFFLINE: "1", HOME: project.root } },
  );
  expect(exitCode, stderr).toBe(0);
  const found = parseJson(stdout, Judgement, "judge.py");
  for (const split of splits) {
    const rows: unknown[] = [];
    for (const path of dataset.shards[split]) {
      const shard = await openShard(path);
      for await (const dialogue of shard.dialogues()) rows.push(asRow(dialogue));
      await shard.close();
    }
    expect(found[split]?.rows).toEqual(rows);
    expect(rows).toHaveLength(lock.splits[split].rows);
    expect(found[split]).toMatchObject({ agree: true, audio: AUDIO_COLUMNS, content: rows.map(() => true) });
    expect(found[split]?.features).toMatchObject({ id: "Value('string')", num_turns: "Value('int32')" });
  }
  await dataset.close();
};

const title = python === undefined ? " (skipped: no Python; set UNDERSTUDY_TEST_PYTHON)" : "";
describe.skipIf(python === undefined)(
  `Python's datasets and pyarrow read every field and clip${title}`,
  () => {
    it.each(["list", "compat"])(
      "of a small corpus in several shards, footer %s",
      async (footer) => {
        const project = await projectWith((corpus) => {
          corpus.spec["shards"] = { shardBytes: 12_000, rowGroupBytes: 4_000, footer };
        });
        await judge(project, "small");
      },
      120_000,
    );

    it("of greenroom", async () => {
      const project = await makeProject();
      await cp(join(root, "datasets", "greenroom.yaml"), join(project.datasets, "greenroom.yaml"));
      await symlink(join(root, "datasets", "greenroom"), join(project.datasets, "greenroom"));
      await judge(project, "greenroom");
    }, 120_000);
  },
);
