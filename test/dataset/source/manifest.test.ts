import { join } from "node:path";
import { rm, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { loadSpec, packDataset } from "../../../src/dataset/index.ts";
import { toneClip } from "../corpus.ts";
import { draftOf, jsonl, openGiven, projectOf, put, readAll, turn } from "./support.ts";

const SOURCE = { format: "manifest" };
describe("a JSONL manifest", () => {
  it("gives dialogues by its fields, role by slug or stem, kind by the turns, and each again by its place", async () => {
    const project = await projectOf(SOURCE, {
      "a.jsonl": jsonl(
        {
          role_id: "thor",
          turns: [turn("a")],
          category: "Skills",
          context: "scene",
          system_prompt: "You are Thor.",
        },
        "",
        {
          role_id: "Prof. G.H. Dorr",
          split: "test",
          turns: [turn("b", { role_audio_f5_tts: "data:;base64,QUJD" }), turn("c")],
        },
      ),
      "audio/a.wav": toneClip(1),
    });
    const source = await openGiven(project);
    const { found, again } = await readAll(source);
    expect(found.map(({ role, kind, pool, place }) => [role.slug, kind, pool, place.index])).toEqual([
      ["thor", "single", "train", 0],
      ["dorr", "multi", "test", 2],
    ]);
    expect(found.map(draftOf)).toEqual(again);
    expect(again[0]).toEqual({
      category: "Skills",
      context: "scene",
      systemPrompt: "You are Thor.",
      promptFromProfile: false,
      turns: [
        {
          userText: "a",
          roleText: "a indeed.",
          user: { kind: "file", path: "audio/a.wav" },
          role: { cosyvoice2: { kind: "file", path: "audio/a-role.wav" }, f5_tts: null, e2_tts: null },
        },
      ],
    });
    // A named backend wins over the unnamed reference.
    expect(again[1]?.turns[0]?.role).toEqual({
      cosyvoice2: null,
      f5_tts: { kind: "inline", data: "data:;base64,QUJD" },
      e2_tts: null,
    });
    expect(await source.clip({ kind: "file", path: "audio/a.wav" })).toMatchObject({ outcome: "bytes" });
    expect(await source.clip({ kind: "file", path: "../../x.wav" })).toMatchObject({ reason: "path" });
  });

  it("takes the profile where there is no prompt", async () => {
    const project = await projectOf(SOURCE, {
      "a.jsonl": jsonl({ role_id: "thor", turns: [turn("a")], context: "scene" }),
      "role_metadata/role_profiles/Thor_profile.txt": "\ufeffI want you to act like Thor from Marvel.\n",
    });
    const { again } = await readAll(await openGiven(project));
    expect(again[0]).toMatchObject({
      systemPrompt: "I want you to act like Thor from Marvel.\n[Character script]\nscene",
      promptFromProfile: true,
    });
  });

  it("stops at a role that the manifest does not have, by file and line", async () => {
    const project = await projectOf(SOURCE, {
      "a.jsonl": jsonl({ role_id: "thor", turns: [turn("a")] }, { role_id: "Loki", turns: [] }),
    });
    await expect(openGiven(project).then(readAll)).rejects.toMatchObject({
      code: "ROLE_UNKNOWN",
      message: `${join(project.datasets, "given", "a.jsonl")}:2: no role of the manifest is called "Loki"`,
    });
  });

  it("says what is not there, and notices what changed", async () => {
    const project = await projectOf(SOURCE, {});
    await expect(openGiven(project)).rejects.toMatchObject({ code: "SOURCE_MISSING" });
    const file = join(project.datasets, "given", "a.jsonl");
    await writeFile(file, jsonl({ role_id: "thor", turns: [turn("a")] }));
    const source = await openGiven(project);
    const [unit] = source.units;
    for await (const found of source.dialogues(unit ?? "")) {
      await writeFile(file, "{}");
      await expect(source.read(found)).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
    }
    await rm(join(project.datasets, "given"), { recursive: true });
    await expect(openGiven(project)).rejects.toMatchObject({ code: "SOURCE_MISSING" });
  });

  it("is read in parts when it is large, every dialogue once", async () => {
    const pad = "x".repeat(20_000);
    const records = Array.from({ length: 1_000 }, (_, index) => ({
      role_id: "thor",
      context: pad,
      turns: [turn(`q${index}`)],
    }));
    const project = await projectOf(SOURCE, { "a.jsonl": jsonl(...records) });
    const source = await openGiven(project);
    expect(source.units.length).toBeGreaterThan(1);
    const { found } = await readAll(source);
    expect(found.map(({ place }) => place.index)).toEqual(records.map((_, index) => index));
  });

  it("may be one file with its roles beside the spec, whose change is a change of the spec", async () => {
    const project = await projectOf(
      { ...SOURCE, path: "given/a.jsonl", roles: "given.roles.json" },
      { "a.jsonl": jsonl({ role_id: "thor", turns: [turn("a")] }) },
    );
    const roles = join(project.datasets, "given.roles.json");
    const role = {
      stem: "Thor",
      slug: "thor",
      displayName: "Thor",
      language: "en",
      source: "",
      heldOut: false,
    };
    await put(roles, JSON.stringify([role]));
    const before = (await loadSpec(project, "given")).digest;
    const source = await openGiven(project);
    expect(source.folder).toBe(join(project.datasets, "given"));
    expect((await readAll(source)).found).toHaveLength(1);
    await put(roles, JSON.stringify([{ ...role, displayName: "Donar" }]));
    expect((await loadSpec(project, "given")).digest).not.toBe(before);
  });

  it("does not lie among the data sets, whose files change while it is packed", async () => {
    const project = await projectOf({ ...SOURCE, path: "a.jsonl" });
    await put(join(project.datasets, "a.jsonl"), "");
    await expect(openGiven(project)).rejects.toMatchObject({ code: "SPEC_INVALID" });
  });

  it("packs", async () => {
    const records = ["train", "test"].flatMap((split) =>
      ["thor", "dorr"].flatMap((role, r) =>
        Array.from({ length: 4 }, (_, index) => ({
          role_id: role,
          split,
          turns: [turn(`${split}${r}${index}`)],
        })),
      ),
    );
    const project = await projectOf(SOURCE, { "a.jsonl": jsonl(...records, "{") });
    const names = records.flatMap(({ turns }) =>
      turns.flatMap((each) => [each["user_audio"], each["role_audio"]]),
    );
    for (const [index, name] of names.entries())
      await put(join(project.datasets, "given", String(name)), toneClip(index));
    const { lock } = await packDataset({ project, name: "given", allow: { system_prompts: "a test" } });
    expect([lock.splits.train.rows, lock.splits.dev.rows, lock.splits.test.rows]).toEqual([4, 4, 8]);
    expect(lock.drops.byReason).toEqual({ json_invalid: 1 });
  });
});
