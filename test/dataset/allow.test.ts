import { describe, expect, it } from "vitest";
import type { DatasetLock } from "../../src/dataset/index.ts";
import { packDataset } from "../../src/dataset/index.ts";
import {
  dialogueAt,
  makeCorpus,
  makeProject,
  projectWith,
  turnAt,
  writeCorpus,
  type Corpus,
} from "./corpus.ts";

const TRAIN = "train/single/Thor.json";
const VOICE = "role_metadata/role_voices/Thor.wav";
// Thor answers with his own reference clip, and one of his test answers is learnt by another role.
const leaky = (corpus: Corpus): void => {
  Object.assign(corpus.spec["splits"] ?? {}, { devPerRole: 0 });
  const answer = turnAt(corpus, TRAIN, { dialogue: 2, turn: 0 });
  corpus.files.set(String(answer["role_speech_path"]), corpus.files.get(VOICE) ?? "");
  const { user, role } = turnAt(corpus, "test_data/single_turn/Thor.json", { dialogue: 0, turn: 0 });
  Object.assign(turnAt(corpus, "train/multi/hutao.json", { dialogue: 1, turn: 1 }), { user, role });
  corpus.roles.push({ ...ROLE, stem: "Loki", slug: "loki" }, { ...ROLE, stem: "Anna", slug: "anna" });
};
const ROLE = { displayName: "x", language: "en", source: "x", heldOut: false } as const;
const allow = {
  reference_clips: "a test",
  no_shared_text: "a test of mine",
  role_membership: "they come later",
  expected_counts: "as many as there are",
};
const gate = (lock: DatasetLock, name: string): unknown => lock.gates.find((each) => each.name === name);

describe("a violated gate", () => {
  it("for the reference clip of a role as an answer names both", async () => {
    const project = await projectWith((corpus) => {
      leaky(corpus);
      corpus.roles.splice(3);
    });
    await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({
      code: "GATE_VIOLATED",
      message: expect.stringContaining(
        `reference_clips: an answer of ${TRAIN} dialogue 3 (train) is the reference clip of "Thor"`,
      ),
    });
  });

  it("that is allowed is in the lock with its reason, and the same for any order of the source", async () => {
    const project = await projectWith(leaky);
    const { lock } = await packDataset({ project, name: "small", allow });
    expect(gate(lock, "reference_clips")).toEqual({
      name: "reference_clips",
      passed: false,
      detail: expect.stringMatching(
        /^an answer of train\/single\/Thor\.json: thor-single-[0-9a-f]{12} \(train\) is the reference clip of "Thor"$/,
      ),
      allowed: "a test",
    });
    expect(gate(lock, "unique_ids")).toMatchObject({ passed: true, allowed: null });

    const corpus = makeCorpus();
    leaky(corpus);
    corpus.roles.reverse();
    corpus.dialogues = new Map([...corpus.dialogues].map(([path, list]) => [path, list.toReversed()]));
    const other = await makeProject();
    await writeCorpus(other, corpus);
    expect((await packDataset({ project: other, name: "small", allow })).lock).toEqual(lock);
    // Another reason is another lock.
    const again = await packDataset({ project, name: "small", allow: { ...allow, reference_clips: "so" } });
    expect(again).toMatchObject({ reused: false, lockChanged: true });
  });

  it("is not let pass by an allowance for another one, or for none that there is", async () => {
    const project = await projectWith(leaky);
    const { reference_clips: _, ...others } = allow;
    const pack = async (reasons: Record<string, string>): Promise<unknown> =>
      packDataset({ project, name: "small", allow: reasons });
    await expect(pack(others)).rejects.toMatchObject({ code: "GATE_VIOLATED" });
    await expect(pack({ ...allow, unique_ids: "x" })).rejects.toMatchObject({ code: "GATE_NOT_ALLOWABLE" });
    await expect(pack({ ...allow, reference_clip: "x" })).rejects.toMatchObject({
      code: "GATE_UNKNOWN",
      hint: expect.stringContaining("no_shared_audio, reference_clips"),
    });
  });
});

it("reference clips that cannot be read are told, since nothing was compared with them", async () => {
  const project = await projectWith((corpus) => {
    corpus.files.set(VOICE, "version https://git-lfs.github.com/spec/v1\n");
    corpus.files.delete("role_metadata/role_voices/hutao.wav");
  });
  expect(gate((await packDataset({ project, name: "small" })).lock, "reference_clips")).toMatchObject({
    passed: true,
    detail: '1 reference clips, none of them an answer; not compared, since they cannot be read: "Thor"',
  });
});

it("a corpus is not a folder that holds what packing writes", async () => {
  const project = await projectWith((corpus) => {
    Object.assign(corpus.spec["source"] ?? {}, { path: ".", roles: "small/roles.json" });
  });
  await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({
    code: "SPEC_INVALID",
    message: `${project.datasets} holds the folder that packing writes to`,
  });
});

it("test answers that stand in the script of their role are counted, quoted by the role card or not", async () => {
  const project = await projectWith((corpus) => {
    corpus.files.set(
      "role_metadata/scripts/Thor_scripts.txt",
      "scene: a hall\nThor: THOR  single test answer 0.0.\nThor: Thor single answer 1.0.\n",
    );
    corpus.files.set("role_metadata/scripts/hutao_scripts.txt", "Thor single test answer 1.0.");
    const quoted = dialogueAt(corpus, "test_data/multi_turn/Thor.json", 1);
    quoted.context = `scene: Thor multi test answer 1.1.`;
  });
  const { lock } = await packDataset({ project, name: "small" });
  expect(lock.statistics.copiedAnswers).toEqual({ turns: 2, of: 18 });
});
