import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadSpec, packDataset, type DialogueSource } from "../../../src/dataset/index.ts";
import { openSource } from "../../../src/dataset/source/open-source.ts";
import { profileName, sameName } from "../../../src/dataset/source/profile-name.ts";
import { projectWith, turnAt, type Corpus } from "../corpus.ts";
import { readAll } from "./support.ts";

const sourceOf = async (
  change: (corpus: Corpus) => unknown,
  moves: readonly (readonly [from: string, to: string])[] = [],
): Promise<DialogueSource> => {
  const project = await projectWith(change);
  for (const [from, to] of moves) {
    await mkdir(join(project.datasets, "small", to, ".."), { recursive: true });
    await rename(join(project.datasets, "small", from), join(project.datasets, "small", to));
  }
  return openSource(await loadSpec(project, "small"), project);
};

const BLAIR = "I want you to act like Blair Waldorf from Gossip_Girl.\nUse her tone.";
// Thor's files under the name that is known to be wrong upstream.
const raylan = (corpus: Corpus): void => {
  const [thor] = corpus.roles;
  if (thor) Object.assign(thor, { stem: "Raylan Givens", displayName: "Raylan Givens" });
  for (const [path, dialogues] of [...corpus.dialogues].filter(([name]) => name.endsWith("/Thor.json")))
    corpus.dialogues.set(path.replace("Thor.json", "Raylan Givens.json"), dialogues).delete(path);
  corpus.files.set("role_metadata/role_profiles/Raylan Givens_profile.txt", BLAIR);
};

describe("a role whose files are another character's", () => {
  it("is called what its profile says", async () => {
    const source = await sourceOf(raylan);
    expect(source.roles[0]).toMatchObject({
      stem: "Raylan Givens",
      slug: "thor",
      displayName: "Blair Waldorf",
      source: "Gossip_Girl",
    });
    expect(source.units).toContain("train/single/Raylan Givens.json");
  });

  it("keeps the name that somebody gave it in the manifest", async () => {
    const source = await sourceOf((corpus) => {
      raylan(corpus);
      Object.assign(corpus.roles[0] ?? {}, { displayName: "B. Waldorf", source: "TV" });
    });
    expect(source.roles[0]).toMatchObject({ displayName: "B. Waldorf", source: "TV" });
  });

  it("is left out where the spec says so, and its files are no strangers", async () => {
    const source = await sourceOf((corpus) => {
      raylan(corpus);
      Object.assign(corpus.spec["source"] ?? {}, { mislabelled: "exclude" });
    });
    expect(source.roles.map(({ stem }) => stem)).toEqual(["Prof. G.H. Dorr", "hutao"]);
    expect(source.strangers).toEqual([]);
    expect(source.units.filter((unit) => unit.includes("Raylan"))).toEqual([]);
  });

  it("is a role as any other once its profile is its own", async () => {
    const source = await sourceOf((corpus) => {
      raylan(corpus);
      corpus.files.set(
        "role_metadata/role_profiles/Raylan Givens_profile.txt",
        BLAIR.replace("Blair Waldorf", "Raylan Givens"),
      );
      Object.assign(corpus.spec["source"] ?? {}, { mislabelled: "exclude" });
    });
    expect(source.roles).toHaveLength(3);
  });
});

describe("the trees of a release", () => {
  it.each([
    ["code", "benchmark"],
    ["metadata", "SpeechRole-Eval"],
  ])("are found as %s and %s", async (metadata, evaluation) => {
    const source = await sourceOf(() => {}, [
      ["role_metadata", metadata],
      ["test_data", `${evaluation}/test_data`],
      ["train", "create_multiturn_data/train"],
    ]);
    expect(
      source.roles.every(({ profileSha256, referencePcmSha256 }) => profileSha256 && referencePcmSha256),
    ).toBe(true);
    const { found } = await readAll(source);
    expect(found.filter(({ pool }) => pool === "test")).toHaveLength(12);
    for (const { content } of found) {
      const [turn] = content.outcome === "dialogue" ? content.draft.turns : [];
      expect(turn && (await source.clip(turn.user))).toMatchObject({ outcome: "bytes" });
    }
  });

  it("are not chosen from when there are two of one", async () => {
    await expect(
      sourceOf((corpus) => corpus.files.set("benchmark/test_data/multi_turn/Thor.json", "[]")),
    ).rejects.toMatchObject({
      code: "SOURCE_AMBIGUOUS",
      message: expect.stringContaining("test_data and benchmark/test_data"),
    });
  });
});

describe("a role file", () => {
  it("loses one dialogue whose JSON is broken, by its byte, and no other", async () => {
    const text =
      '\ufeff[\n {"dialogue": [{"user": "a", "user": "b"}]},\n {"dialogue": [{"user": "q", "role": "a", "user_speech_base64": "data:audio/mpeg;base64,QU\\nJD_-"}]}]';
    const source = await sourceOf((corpus) => {
      corpus.dialogues.delete("train/single/Thor.json");
      corpus.files.set("train/single/Thor.json", text);
    });
    const found = (await readAll(source)).found.filter(
      ({ place }) => place.file === "train/single/Thor.json",
    );
    expect(found.map(({ content }) => content)).toMatchObject([
      {
        reason: "json_invalid",
        detail:
          'byte 28 of the dialogue "{\\"dialogue\\": [{\\"user\\": \\"a\\", \\"user\\": \\"b\\"}]}": the key "user" stands twice in one object',
      },
      { outcome: "dialogue" },
    ]);
    const clip = await source.clip({ kind: "inline", data: "data:audio/mpeg;base64,QU\nJD_-" });
    expect(clip).toEqual({ outcome: "bytes", bytes: new Uint8Array(Buffer.from("QUJD/+", "base64")) });
  });

  it("stops a strict pack at a broken dialogue, with file, role and byte", async () => {
    const project = await projectWith((corpus) => {
      corpus.dialogues.delete("train/single/Thor.json");
      corpus.files.set("train/single/Thor.json", '[{"dialogue": NaN}]');
    });
    await expect(packDataset({ project, name: "small", strict: true })).rejects.toMatchObject({
      code: "DIALOGUE_BAD",
      message: expect.stringMatching(
        /^Thor, train\/single\/Thor\.json: "[^ ]+ NaN\}": json_invalid: byte 13 of the dialogue "\{\\"dialogue\\": NaN\}": "NaN\}" is not JSON$/,
      ),
    });
  });

  it("names a clip of another dialogue without being led astray by its name", async () => {
    const { found } = await readAll(
      await sourceOf((corpus) => {
        const file = "test_data/multi_turn/Thor.json";
        const [own, other] = [1, 0].map((dialogue) => turnAt(corpus, file, { dialogue, turn: 1 }));
        if (own && other) own["user_speech_path"] = other["user_speech_path"];
      }),
    );
    const second = found.filter(({ place }) => place.file === "test_data/multi_turn/Thor.json")[1];
    expect(second?.content).toMatchObject({
      draft: {
        turns: [
          {},
          {
            userText: "Thor multi test question 1.1?",
            user: { path: expect.stringContaining("/1_Thor_0_1_") },
          },
        ],
      },
    });
  });
});

describe("the first line of a profile", () => {
  it.each([
    ["I want you to act like Thor from Thor: Ragnarok.\nmore", { name: "Thor", source: "Thor: Ragnarok" }],
    ["\nI want you to act like Sonny from Tales from the Loop.", { name: "Sonny", source: "the Loop" }],
    ["I want you to act like 胡桃 from 原神。", { name: "胡桃", source: "原神" }],
    ["I want you to act like HAL 9000", { name: "HAL 9000", source: "" }],
    ["A profile.", undefined],
    ["I want you to act like ", undefined],
  ])("%j", (profile, expected) => {
    expect(profileName(profile)).toEqual(expected);
  });

  it("is compared without spelling", () => {
    expect(sameName("D_Artagnan", "D'Artagnan")).toBe(true);
    expect(sameName("Judy Hoops", "Judy Hopps")).toBe(false);
  });
});
