import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Project } from "../../../src/core/project.ts";
import { loadSpec } from "../../../src/dataset/index.ts";
import { importCorpus, type ImportReport } from "../../../src/dataset/import/import-corpus.ts";
import { openSource } from "../../../src/dataset/source/open-source.ts";
import { projectWith, turnAt, type Corpus } from "../corpus.ts";
import { put } from "../source/support.ts";

/** A release whose layout is that of the small corpus, without a manifest of its own. */
const released = async (change: (corpus: Corpus) => unknown = () => {}): Promise<Project> => {
  const project = await projectWith(change);
  await rm(join(project.datasets, "small", "roles.json"));
  return project;
};
const importSmall = async (project: Project, more: object = {}): Promise<ImportReport> =>
  importCorpus({ project, folder: join(project.datasets, "small"), name: "mine", ...more });
const codes = ({ defects }: ImportReport): string[] =>
  defects.map(({ code, role }) => `${code} ${role ?? "-"}`);

describe("importing a release", () => {
  it("says what is there, and writes a spec and a manifest that open", async () => {
    const project = await released((corpus) => {
      for (const dialogues of [...corpus.dialogues].flatMap(([path, all]) =>
        path.includes("hutao") ? all : [],
      ))
        for (const turn of dialogues.dialogue) turn.role = "旅行者，你好呀。";
    });
    const report = await importSmall(project, { licence: "CC0-1.0", revision: "abc" });
    expect(report).toMatchObject({
      format: "speechrole-release",
      languages: { en: 2, zh: 1 },
      dialogues: { train: 18, test: 12, unusable: 0 },
      turns: 42,
      forms: { "one reference in files": 24, "three references in files (generation 2)": 18 },
    });
    expect(report.roles).toEqual([
      {
        stem: "Prof. G.H. Dorr",
        slug: "prof_g_h_dorr",
        displayName: "Prof. G.H. Dorr",
        language: "en",
        source: "Tests",
        heldOut: false,
      },
      { stem: "Thor", slug: "thor", displayName: "Thor", language: "en", source: "Tests", heldOut: false },
      { stem: "hutao", slug: "hutao", displayName: "hutao", language: "zh", source: "Tests", heldOut: false },
    ]);
    const text = await readFile(report.specFile, "utf8");
    expect(text).toContain("path: small\n");
    const loaded = await loadSpec(project, "mine");
    expect(loaded.rolesFile).toBe(join(project.datasets, "mine.roles.json"));
    expect((await openSource(loaded, project)).roles).toHaveLength(3);
    expect(loaded.spec.expected).toEqual({ roles: 3, testSessions: 12 });
  });

  it("names the known defects and repeats none", async () => {
    const project = await released((corpus) => {
      const test = "test_data/multi_turn/Thor.json";
      turnAt(corpus, test, { dialogue: 1, turn: 1 })["user_speech_path"] =
        "test_data/multi_turn_speech/Thor/1_Thor_0_1_user.wav";
      turnAt(corpus, test, { dialogue: 0, turn: 0 }).user = " what is asr?";
      const train = turnAt(corpus, "train/single/Thor.json", { dialogue: 0, turn: 0 });
      delete train["user_speech_path"];
      delete train["role_speech_path"];
      corpus.files.set(
        "role_metadata/role_profiles/Thor_profile.txt",
        "I want you to act like Loki from Tests.",
      );
      corpus.files.delete("role_metadata/role_profiles/hutao_profile.txt");
      corpus.files.set(
        "role_metadata/role_voices/audios_text.json",
        JSON.stringify({ Thor: "Hello there.", Dumbledore: "A: Who? B: Me.", hutao: "這是半句" }),
      );
    });
    const report = await importSmall(project);
    expect(codes(report).toSorted()).toEqual([
      "asr_text Thor",
      "clip_name_differs Thor",
      "defective_reference hutao",
      "profile_missing hutao",
      "profile_name_differs Thor",
      "role_audio_missing Thor",
      "transcript_half_sentence hutao",
      "transcript_traditional hutao",
      "transcript_two_speakers Dumbledore",
      "user_audio_missing Thor",
    ]);
    expect(report.defects.find(({ code }) => code === "clip_name_differs")).toMatchObject({
      count: 1,
      places: [
        "test_data/multi_turn/Thor.json dialogue 2, turn 2: test_data/multi_turn_speech/Thor/1_Thor_0_1_user.wav",
      ],
    });
  });

  it("calls a role what its profile says, and says so", async () => {
    const project = await released((corpus) => {
      for (const [path, dialogues] of corpus.dialogues)
        if (path.endsWith("/Thor.json")) {
          corpus.dialogues.delete(path);
          corpus.dialogues.set(path.replace("Thor", "Raylan Givens"), dialogues);
        }
      corpus.files.set(
        "role_metadata/role_profiles/Raylan Givens_profile.txt",
        "I want you to act like Blair Waldorf from Gossip_Girl.",
      );
    });
    const report = await importSmall(project);
    expect(report.roles.find(({ stem }) => stem === "Raylan Givens")).toMatchObject({
      displayName: "Blair Waldorf",
      source: "Gossip_Girl",
    });
    expect(codes(report)).toContain("mislabelled_role Raylan Givens");
  });

  it("proposes the held-out roles of SpeechRole-Data and tells published counts that differ", async () => {
    const project = await released((corpus) => {
      const dialogues = corpus.dialogues.get("train/single/Thor.json") ?? [];
      for (const stem of [
        "ayaka",
        "guojing",
        "Luna",
        "Penny",
        "Logan",
        "James Bond",
        "zhongli",
        "wukong",
        "zhaomin",
      ])
        corpus.dialogues.set(`train/single/${stem}.json`, dialogues);
    });
    const report = await importSmall(project);
    const { spec } = await loadSpec(project, "mine");
    expect(spec.splits).toMatchObject({
      by: "spec",
      heldOutRoles: ["James Bond", "Logan", "Luna", "Penny", "ayaka", "guojing"],
    });
    expect(report.roles.filter(({ heldOut }) => heldOut)).toHaveLength(6);
    // By the list: all of these answers are English.
    expect(report.languages.zh).toBe(6);
    expect(codes(report)).toEqual(
      expect.arrayContaining(["roles_not_as_published -", "sessions_not_as_published -"]),
    );
  });

  it("tells a mixture of generations", async () => {
    const project = await released((corpus) => {
      const turn = turnAt(corpus, "test_data/single_turn/Thor.json", { dialogue: 0, turn: 0 });
      turn["role_speech_path"] = turn["role_speech_path1"];
      for (const number of [1, 2, 3]) delete turn[`role_speech_path${number}`];
    });
    expect(codes(await importSmall(project))).toContain("mixed_generations -");
  });

  it("takes the manifest of the corpus as it is, held-out roles too", async () => {
    const project = await projectWith();
    const report = await importSmall(project);
    expect(report.rolesFile).toBe(join(project.datasets, "small", "roles.json"));
    expect((await loadSpec(project, "mine")).spec.splits).toMatchObject({
      by: "spec",
      heldOutRoles: ["hutao"],
    });
    expect(await readdir(project.datasets)).not.toContain("mine.roles.json");
  });

  it("writes over nothing unless forced, and writes nothing when the corpus is broken", async () => {
    const project = await released();
    const roles = join(project.datasets, "mine.roles.json");
    await writeFile(roles, "mine");
    await expect(importSmall(project)).rejects.toMatchObject({
      code: "DATASET_EXISTS",
      message: `${roles} is there already`,
    });
    expect(await readFile(roles, "utf8")).toBe("mine");
    await importSmall(project, { force: true });
    await expect(importSmall(project)).rejects.toMatchObject({ code: "DATASET_EXISTS" });
    // As after a kill between the manifest and the spec.
    await rm(join(project.datasets, "mine.yaml"));
    await importSmall(project);
    await put(join(project.datasets, "small", "train/single/Zed.json"), '[{"dialogue": [');
    await expect(importSmall(project, { name: "other" })).rejects.toMatchObject({
      code: "SOURCE_JSON_INVALID",
    });
    expect((await readdir(project.datasets)).filter((name) => name.startsWith("other"))).toEqual([]);
    await expect(importSmall(project, { name: "Not a name" })).rejects.toMatchObject({
      code: "NAME_INVALID",
    });
    await expect(
      importSmall(project, { name: "new", folder: join(project.root, "no") }),
    ).rejects.toMatchObject({ code: "SOURCE_MISSING" });
  });
});
