import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { exists } from "../../src/core/files.ts";
import { lockFile, packDataset } from "../../src/dataset/index.ts";
import { dialogueAt, projectWith, toneClip, turnAt, type Corpus } from "./corpus.ts";

const TRAIN = "train/single/Thor.json";
const TEST = "test_data/single_turn/Thor.json";
const first = { dialogue: 0, turn: 0 };

const cases: readonly (readonly [name: string, (corpus: Corpus) => void, expected: readonly string[]])[] = [
  [
    "a test dialogue that stands in train too",
    (corpus) => {
      const { user, role, user_speech_path, role_speech_path1 } = turnAt(corpus, TEST, {
        dialogue: 1,
        turn: 0,
      });
      Object.assign(turnAt(corpus, TRAIN, first), {
        user,
        role,
        user_speech_path,
        role_speech_path: role_speech_path1,
      });
    },
    [
      `unique_ids: ${TEST} dialogue 2 and ${TRAIN} dialogue 1 are both thor-single-`,
      `no_shared_text: ${TRAIN} dialogue 1 (train) and ${TEST} dialogue 2 (test) share a question and its answer`,
      `no_shared_audio: ${TRAIN} dialogue 1 (train) and ${TEST} dialogue 2 (test) share a role clip`,
    ],
  ],
  [
    "one question and answer of a test dialogue inside a training dialogue of another role",
    (corpus) => {
      const { user, role } = turnAt(corpus, TEST, first);
      Object.assign(turnAt(corpus, "train/multi/hutao.json", { dialogue: 1, turn: 1 }), {
        user: ` ${user.toUpperCase()}`,
        role,
      });
    },
    [`no_shared_text: train/multi/hutao.json dialogue 2 (ood) and ${TEST} dialogue 1 (test) share`],
  ],
  [
    "the same role clip under another header",
    (corpus) => {
      const path = String(turnAt(corpus, TEST, first)["role_speech_path2"]);
      const clip = corpus.files.get(path);
      if (typeof clip === "string" || !clip) throw new Error("no clip");
      const behind = Buffer.concat([clip, Buffer.from("LIST\x04\x00\x00\x00abcd", "latin1")]);
      corpus.files.set(String(turnAt(corpus, TRAIN, first)["role_speech_path"]), new Uint8Array(behind));
    },
    [`no_shared_audio: ${TRAIN} dialogue 1 (train) and ${TEST} dialogue 1 (test) share a role clip`],
  ],
  [
    "the same test session twice",
    (corpus) => {
      corpus.dialogues.get(TEST)?.splice(1, 1, dialogueAt(corpus, TEST, 0));
    },
    ["unique_ids: "],
  ],
  [
    "a role file of nobody",
    (corpus) => corpus.dialogues.set("train/multi/Loki.json", []),
    ["role_membership: train/multi/Loki.json belongs to no role of the manifest"],
  ],
  [
    "a held-out role that the manifest does not have",
    (corpus) => Object.assign(corpus.spec["splits"] ?? {}, { heldOutRoles: ["hutao", "Loki"] }),
    ['role_membership: held-out role "Loki" is not in the manifest'],
  ],
  [
    "a manifest that disagrees with the spec",
    (corpus) => Object.assign(corpus.spec["splits"] ?? {}, { heldOutRoles: [] }),
    [
      'held_out_roles: the role manifest holds out "hutao" (heldOut: true), the spec does not (splits.heldOutRoles)',
    ],
  ],
  [
    "a held-out role that is trained on under another spelling",
    (corpus) => {
      const twin = corpus.roles.find(({ stem }) => stem === "hutao");
      if (!twin) throw new Error("no such role");
      corpus.roles.push({ ...twin, stem: "Hu_Tao ", slug: "hu_tao", heldOut: false });
      // Twins that are made on the way are none of hutao.
      for (const [file, dialogues] of corpus.dialogues)
        if (file.endsWith("/hutao.json"))
          corpus.dialogues.set(
            file.replace("hutao", "Hu_Tao "),
            structuredClone(dialogues).map((dialogue) => ({
              ...dialogue,
              dialogue: dialogue.dialogue.map((turn) => ({
                ...turn,
                role: `again: ${turn.role}`,
              })),
            })),
          );
    },
    [
      'held_out_roles: "hutao" is held out and "Hu_Tao " is not, and their names differ by case, space or signs only',
    ],
  ],
  [
    "a seen role without training dialogues",
    (corpus) => {
      corpus.dialogues.delete("train/single/Thor.json");
      corpus.dialogues.delete("train/multi/Thor.json");
    },
    ['role_membership: seen role "Thor" has no training dialogue: none was given'],
  ],
  [
    "a seen role whose training dialogues were all dropped or went elsewhere, saying where",
    (corpus) => {
      Object.assign(corpus.spec["splits"] ?? {}, { devPerRole: 2 });
      for (const dialogue of [0, 1, 2]) {
        const path = String(turnAt(corpus, TRAIN, { dialogue, turn: 0 })["role_speech_path"]);
        corpus.files.set(path, corpus.files.get(path)?.slice(0, 500) ?? "");
      }
      corpus.files.delete(String(turnAt(corpus, TRAIN, { dialogue: 3, turn: 0 })["user_speech_path"]));
    },
    [
      'role_membership: seen role "Thor" has no training dialogue: of 6 given, 4 were dropped (audio_missing 1, audio_truncated 3), 2 went to dev: see splits.devPerRole',
    ],
  ],
  [
    "a seen role whose dialogues share a clip, saying that no setting can part them",
    (corpus) => {
      Object.assign(corpus.spec["splits"] ?? {}, { devPerRole: 1 });
      for (const dialogue of [0, 1, 2, 3])
        turnAt(corpus, TRAIN, { dialogue, turn: 0 })["role_speech_path"] = turnAt(corpus, TRAIN, first)[
          "role_speech_path"
        ];
      corpus.dialogues.delete("train/multi/Thor.json");
    },
    [
      'role_membership: seen role "Thor" has no training dialogue: of 4 given, 4 went to dev; 4 of them share a clip, or a question with its answer, and are never parted: see splits.devPerRole',
    ],
  ],
  [
    "a role whose test sessions were all dropped, not counting its training dialogues",
    (corpus) => {
      turnAt(corpus, TRAIN, first).role = "";
      for (const file of [TEST, "test_data/multi_turn/Thor.json"])
        for (const { dialogue } of corpus.dialogues.get(file) ?? [])
          corpus.files.delete(String(dialogue[0]?.["user_speech_path"]));
    },
    ['role_membership: role "Thor" has no test session: of 4 given, 4 were dropped (audio_missing 4)'],
  ],
  [
    "a division that leaves nothing to train on",
    (corpus) => {
      Object.assign(corpus.spec["splits"] ?? {}, { heldOutRoles: ["hutao", "Thor", "Prof. G.H. Dorr"] });
      for (const role of corpus.roles) role.heldOut = true;
      Object.assign(corpus.spec["expected"] ?? {}, { heldOutRoles: 3 });
    },
    ["role_membership: train gets no dialogue at all: every role is held out, or a role of dev"],
  ],
  [
    "a lost test session",
    (corpus) => corpus.files.delete(String(turnAt(corpus, TEST, first)["role_speech_path3"])),
    ["  expected_counts:\n    expected 12 testSessions, found 11\n    thor has 3 test sessions, others 4"],
  ],
  [
    "another number of roles than published",
    (corpus) => Object.assign(corpus.spec["expected"] ?? {}, { roles: 98, heldOutRoles: 20 }),
    ["  expected_counts:\n    expected 98 roles, found 3\n    expected 20 heldOutRoles, found 1"],
  ],
];

describe("packing stops, and leaves no lock, for", () => {
  it.each(cases)("%s", async (_, change, expected) => {
    const project = await projectWith((corpus) => {
      // Every dialogue of a seen role is trained on, so that a planted leak cannot end up in dev.
      Object.assign(corpus.spec["splits"] ?? {}, { devPerRole: 0 });
      change(corpus);
    });
    const error: unknown = await packDataset({ project, name: "small" }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "GATE_VIOLATED", actor: "user" });
    for (const line of expected) expect(String(error)).toContain(line);
    expect(await exists(lockFile(project, "small"))).toBe(false);
  });
});

describe("packing refuses", () => {
  it("two stems with one slug, naming both", async () => {
    const project = await projectWith((corpus) => {
      corpus.roles.push({
        stem: "Prof_G.H. Dorr",
        slug: "prof_dorr",
        displayName: "x",
        language: "en",
        source: "x",
        heldOut: false,
      });
    });
    await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({
      code: "SLUG_COLLISION",
      message: expect.stringContaining(
        'gives "Prof. G.H. Dorr" and "Prof_G.H. Dorr" the same slug "prof_dorr"',
      ),
    });
  });

  it("a stem listed twice, in another Unicode form", async () => {
    const project = await projectWith((corpus) => {
      for (const stem of ["Zo\u00eb", "Zoe\u0308"])
        corpus.roles.push({
          stem,
          slug: `z${stem.length}`,
          displayName: "x",
          language: "en",
          source: "x",
          heldOut: false,
        });
    });
    await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({ code: "STEM_COLLISION" });
  });

  it("a role file that is cut off, with file, line and column", async () => {
    const project = await projectWith();
    const path = join(project.datasets, "small", TRAIN);
    await writeFile(path, '[\n {"dialogue": [{"user": "a", "role": "b"}');
    await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({
      code: "SOURCE_JSON_INVALID",
      message: `${path}:2:42: the file ends inside its array: it is cut off`,
    });
  });

  it("a manifest that is not UTF-8, or that is no manifest, or that is not there", async () => {
    const project = await projectWith();
    const path = join(project.datasets, "small", "roles.json");
    await writeFile(path, Buffer.from("\ufeff[]", "utf16le"));
    await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({
      message: `${path}:1:1: the file is UTF-16: save it as UTF-8`,
    });
    await writeFile(path, '[{"stem": "Thor", "slug": "Thor!"}]');
    await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({ code: "ROLES_INVALID" });
    await rm(path);
    await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({ code: "SOURCE_MISSING" });
  });

  it("a corpus that has no dialogues", async () => {
    const project = await projectWith((corpus) => {
      corpus.dialogues.clear();
      corpus.files.set("train/single/notes.txt", toneClip(1));
    });
    await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({ code: "SOURCE_MISSING" });
  });
});
