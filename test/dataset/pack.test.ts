import { describe, expect, it } from "vitest";
import { openClipReader } from "../../src/audio/index.ts";
import {
  openDataset,
  packDataset,
  type Dialogue,
  type OpenDataset,
  type Split,
} from "../../src/dataset/index.ts";
import { data, extensible, fmt, riff, s24, sine } from "../audio/build-wav.ts";
import { dialogueAt, makeCorpus, projectWith, toneClip, turnAt, type Corpus } from "./corpus.ts";

const packed = async (change?: (corpus: Corpus) => void): Promise<OpenDataset> => {
  const project = await projectWith(change);
  await packDataset({ project, name: "small" });
  return openDataset(project, "small");
};
const rowsOf = async (dataset: OpenDataset, split: Split): Promise<Dialogue[]> => {
  const rows: Dialogue[] = [];
  for await (const { id } of dataset.texts(split)) rows.push(await dataset.dialogue(id));
  return rows;
};
const byText = async (dataset: OpenDataset, split: Split, userText: string): Promise<Dialogue> => {
  const found = (await rowsOf(dataset, split)).find((row) => row.turns[0]?.userText === userText);
  if (!found) throw new Error(`no dialogue begins with ${userText}`);
  return found;
};

describe("packing", () => {
  it("puts seen roles into train and dev, held-out roles into ood, everybody into test", async () => {
    const dataset = await packed();
    const count = async (split: Split): Promise<Record<string, number>> => {
      const counts: Record<string, number> = {};
      for (const { roleId } of await rowsOf(dataset, split)) counts[roleId] = (counts[roleId] ?? 0) + 1;
      return counts;
    };
    expect(await count("train")).toEqual({ thor: 5, prof_dorr: 5 });
    expect(await count("dev")).toEqual({ thor: 1, prof_dorr: 1 });
    expect(await count("ood")).toEqual({ hutao: 6 });
    expect(await count("test")).toEqual({ thor: 4, prof_dorr: 4, hutao: 4 });
    expect(dataset.lock.roles.map(({ id, heldOut, rows }) => [id, heldOut, rows])).toEqual([
      ["hutao", true, { train: 0, dev: 0, ood: 6, test: 4 }],
      ["prof_dorr", false, { train: 5, dev: 1, ood: 0, test: 4 }],
      ["thor", false, { train: 5, dev: 1, ood: 0, test: 4 }],
    ]);
    expect(dataset.lock.drops).toEqual({ byReason: {}, list: [] });
    expect(dataset.lock.gates.every(({ passed }) => passed)).toBe(true);
    await dataset.close();
  });

  it("keeps every field of a dialogue, and clips in the stored form byte for byte", async () => {
    const dataset = await packed();
    const row = await byText(dataset, "test", "hutao multi test question 0.0?");
    const { files } = makeCorpus();
    const base = "test_data/multi_turn_speech/hutao/1_hutao_0_1";
    expect(row).toMatchObject({
      id: expect.stringMatching(/^hutao-multi-[0-9a-f]{12}$/),
      roleId: "hutao",
      roleName: "胡桃",
      language: "zh",
      roleSource: "ChatHaruhi",
      kind: "multi",
      category: "Skills and Abilities",
      systemPrompt: "You are hutao.",
      context: "test scene 0",
      audioSeconds: Math.fround(8 * 0.05),
    });
    expect(row.turns[1]).toEqual({
      index: 1,
      userText: "hutao multi test question 0.1?",
      roleText: "hutao multi test answer 0.1.",
      userAudio: { bytes: files.get(`${base}_user.wav`), path: `${row.id}-1-user.wav` },
      roleAudio: {
        cosyvoice2: { bytes: files.get(`${base}_role1.wav`), path: `${row.id}-1-cosyvoice2.wav` },
        f5_tts: { bytes: files.get(`${base}_role2.wav`), path: `${row.id}-1-f5_tts.wav` },
        e2_tts: { bytes: files.get(`${base}_role3.wav`), path: `${row.id}-1-e2_tts.wav` },
      },
    });
    expect(await dataset.audio(row.id, 1, "e2_tts")).toEqual(row.turns[1]?.roleAudio.e2_tts);
    expect(await dataset.audio(row.id, 0, "user")).toEqual(row.turns[0]?.userAudio);
    await expect(dataset.audio(row.id, 2, "user")).rejects.toMatchObject({ code: "TURN_UNKNOWN" });
    await expect(dataset.dialogue("nobody")).rejects.toMatchObject({ code: "DIALOGUE_UNKNOWN" });
    await dataset.close();
  });

  it("gives the one training reference to its backend and leaves the others null", async () => {
    const dataset = await packed();
    const row = (await rowsOf(dataset, "ood"))[0] ?? expect.fail("no rows");
    expect(row.turns[0]?.roleAudio).toMatchObject({ cosyvoice2: {}, f5_tts: null, e2_tts: null });
    expect(await dataset.audio(row.id, 0, "f5_tts")).toBeNull();
    await dataset.close();
  });

  it("builds a missing system prompt from the profile and records it", async () => {
    const dataset = await packed((corpus) => {
      dialogueAt(corpus, "train/single/hutao.json", 1).system_prompt = null;
    });
    const bare = await byText(dataset, "ood", "hutao single question 0.0?");
    expect(bare).toMatchObject({ context: null, systemPrompt: "I want you to act like hutao from Tests." });
    const scripted = await byText(dataset, "ood", "hutao single question 1.0?");
    expect(scripted.systemPrompt).toBe(
      "I want you to act like hutao from Tests.\n[Character script]\nscene 1",
    );
    expect(dataset.lock.gates.find(({ name }) => name === "system_prompts")?.detail).toBe(
      "7 built from the role's profile, 0 missing",
    );
    await dataset.close();
  });

  it("converts 24-bit stereo of 8 kHz and mu-law of 24 kHz into the stored form", async () => {
    const tone = sine(300, 8_000, { seconds: 0.2 }).flatMap((value) => [value * 256, value * 256]);
    const stereo = riff([
      fmt({ tag: 0xfffe, bits: 24, channels: 2, rate: 8_000, extra: extensible(1, 24) }),
      data(s24(tone)),
    ]);
    const muLaw = riff([
      fmt({ tag: 7, bits: 8, rate: 24_000 }),
      data(Uint8Array.from({ length: 2_400 }, (_, n) => (n * 7) % 256)),
    ]);
    const dataset = await packed((corpus) => {
      corpus.files.set("train/single_speech/hutao/2_0_user.wav", stereo);
      corpus.files.set("train/single_speech/hutao/2_0_role.wav", muLaw);
    });
    const turn = (await byText(dataset, "ood", "hutao single question 2.0?"))?.turns[0];
    const readClip = await openClipReader();
    const measured = (bytes: Uint8Array | undefined): unknown => {
      const clip = readClip(bytes ?? new Uint8Array());
      return clip.outcome === "clip" ? [clip.bytes === bytes, clip.measures.samples] : clip.message;
    };
    expect(measured(turn?.userAudio.bytes)).toEqual([true, 3_200]);
    expect(measured(turn?.roleAudio.cosyvoice2?.bytes)).toEqual([true, 1_600]);
    await dataset.close();
  });

  it("takes audio inside the JSON, with white space, the URL-safe alphabet and no padding", async () => {
    const clip = toneClip(500);
    const base64 = Buffer.from(clip).toString("base64url");
    const dataset = await packed((corpus) => {
      const turn = turnAt(corpus, "train/single/hutao.json", { dialogue: 3, turn: 0 });
      turn["user_speech_base64"] = `data:audio/mpeg;base64,\n${base64.slice(0, 100)}\n ${base64.slice(100)}`;
      turn["user_speech_path"] = "/somewhere/else/gone.wav";
      turn["role_speech_base64"] = Buffer.from(toneClip(501)).toString("base64");
    });
    const row = await byText(dataset, "ood", "hutao single question 3.0?");
    expect(row.turns[0]?.userAudio.bytes).toEqual(clip);
    expect(row.turns[0]?.roleAudio.cosyvoice2?.bytes).toEqual(toneClip(501));
    await dataset.close();
  });

  it("takes who speaks from the JSON when clips carry another name", async () => {
    const dataset = await packed((corpus) => {
      const turn = turnAt(corpus, "test_data/multi_turn/hutao.json", { dialogue: 1, turn: 1 });
      turn["user_speech_path"] = "test_data/multi_turn_speech/Thor/1_Thor_0_0_user.wav";
    });
    const row = await byText(dataset, "test", "hutao multi test question 1.0?");
    expect(row.turns[1]?.userAudio.bytes).toEqual(
      makeCorpus().files.get("test_data/multi_turn_speech/Thor/1_Thor_0_0_user.wav"),
    );
    await dataset.close();
  });

  it("names a dialogue by its text: form, case and spacing do not count, its neighbours neither", async () => {
    const ids = async (change?: (corpus: Corpus) => void): Promise<Set<string>> => {
      const dataset = await packed(change);
      const found = (await rowsOf(dataset, "ood")).map(({ id }) => id);
      await dataset.close();
      return new Set(found);
    };
    const before = await ids();
    const after = await ids((corpus) => {
      corpus.dialogues.get("train/single/hutao.json")?.reverse();
      const turn = turnAt(corpus, "train/multi/hutao.json", { dialogue: 0, turn: 0 });
      turn.user = `  ${turn.user.toUpperCase()} `;
    });
    expect(after).toEqual(before);
  });

  it("finds role files of a corpus that was renamed upstream", async () => {
    const dataset = await packed((corpus) => {
      for (const [path, dialogues] of [...corpus.dialogues].filter(([name]) =>
        name.startsWith("test_data"),
      )) {
        corpus.dialogues.delete(path);
        corpus.dialogues.set(`SpeechRole-Eval/${path}`, dialogues);
      }
      for (const [path, content] of [...corpus.files].filter(([name]) => !name.startsWith("train"))) {
        corpus.files.delete(path);
        const moved = path.startsWith("test_data")
          ? `SpeechRole-Eval/${path}`
          : path.replace("role_metadata", "metadata");
        corpus.files.set(moved, content);
      }
    });
    expect(dataset.lock.splits.test.rows).toBe(12);
    expect(dataset.lock.roles.every((role) => role.profileSha256 && role.referenceClipSha256)).toBe(true);
    await dataset.close();
  });

  it("finds files whose names are stored in another Unicode form than they are written", async () => {
    const dataset = await packed((corpus) => {
      for (const [path, dialogues] of [...corpus.dialogues].filter(([name]) => name.includes("hutao"))) {
        corpus.dialogues.delete(path);
        corpus.dialogues.set(path.replace("hutao", "Zoe\u0308"), dialogues);
      }
      for (const [path, content] of [...corpus.files].filter(([name]) => name.includes("hutao"))) {
        corpus.files.delete(path);
        corpus.files.set(path.replaceAll("hutao", "Zoe\u0308"), content);
      }
      for (const turn of [...corpus.dialogues.values()].flat().flatMap(({ dialogue }) => dialogue))
        for (const [key, value] of Object.entries(turn))
          if (key.includes("path")) turn[key] = String(value).replaceAll("hutao", "Zo\u00eb");
      for (const role of corpus.roles) if (role.stem === "hutao") role.stem = "Zo\u00eb";
      Object.assign(corpus.spec["splits"] ?? {}, { heldOutRoles: ["Zoe\u0308"] });
    });
    expect(dataset.lock.drops.list).toEqual([]);
    expect(
      dataset.lock.roles.map(({ stem, profileSha256 }) => [stem, profileSha256 !== null]),
    ).toContainEqual(["Zo\u00eb", true]);
    expect(dataset.lock.splits.ood.rows).toBe(6);
    await dataset.close();
  });
});
