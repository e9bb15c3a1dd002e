import { readdir, readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { projectAt } from "../../src/core/project.ts";
import { z } from "zod";
import { isClip } from "../../src/audio/index.ts";
import { openDataset, readLock } from "../../src/dataset/index.ts";
import { projectWith } from "../dataset/corpus.ts";
import { runUnderstudy, type RunOutcome } from "../support/run-understudy.ts";
import { makeProject } from "../support/temporary-project.ts";
import { removeFolder } from "../support/remove-folder.ts";

const committed = join(import.meta.dirname, "../../datasets");
let root = "";

const understudy = (...words: string[]): Promise<RunOutcome> => runUnderstudy(words, { cwd: root });

// A project of its own over the committed corpus, packed once.
beforeAll(async () => {
  root = await makeProject();
  const spec = await readFile(join(committed, "greenroom.yaml"), "utf8");
  const elsewhere = spec.replace("path: greenroom", `path: ${join(committed, "greenroom")}`);
  await writeFile(join(projectAt(root).datasets, "greenroom.yaml"), elsewhere);
  const packed = await understudy("dataset", "pack", "greenroom");
  expect(packed).toMatchObject({ exitCode: 0, stderr: "" });
  expect(packed.stdout).toContain("greenroom is packed\n  train 64 dialogues\n");
  return () => removeFolder(root);
});

describe("dataset pack", () => {
  it("does nothing twice", async () => {
    const { exitCode, stdout } = await understudy("dataset", "pack", "greenroom", "--json");
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      name: "greenroom",
      reused: true,
      splits: { train: { dialogues: 64 }, test: { dialogues: 64 } },
    });
  });

  it("names the data sets there are when asked for another", async () => {
    expect(await understudy("dataset", "pack", "grenroom")).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: 'error: There is no data set named "grenroom"\nhint: data sets here: greenroom\n',
    });
  });
});

describe("dataset show", () => {
  it("shows splits and roles, wide names aligned", async () => {
    const { stdout } = await understudy("dataset", "show", "greenroom");
    expect(stdout).toMatch(/^train +64 +78 +1 min 51 s +436 +1 +3\.6 MB$/m);
    expect(stdout).toMatch(/^zh +6 +24 +6 +15 +24 +32\.3 %$/m);
    expect(stdout).toMatch(/^金葫芦 {13}jin_hulu +zh +no +8 +2 +0 +4 +48$/m);
    expect(stdout).toMatch(/^Captain Halyard +captain_halyard +en +yes +0 +0 +5 +4 +0$/m);
    expect(stdout).toContain("gate held_out_roles: ok");
  });

  it("finds a role by id, name or stem, and asks back otherwise", async () => {
    for (const role of ["yunxiu", "云袖", "yunXiu"]) {
      const { stdout } = await understudy("dataset", "show", "greenroom", "--role", role, "--json");
      expect(JSON.parse(stdout)).toMatchObject({ role: { id: "yunxiu" }, drops: [] });
    }
    const wrong = await understudy("dataset", "show", "greenroom", "--role", "yunxu");
    expect(wrong.exitCode).toBe(2);
    expect(wrong.stderr).toContain('error: There is no role "yunxu"; did you mean yunXiu or yunxiu?');
  });

  it("prints nothing but JSON when asked to", async () => {
    const { stdout, stderr } = await understudy("dataset", "show", "greenroom", "--json");
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject({ name: "greenroom", shards: 4, licence: "CC0-1.0" });
  });
});

describe("dataset show of one thing", () => {
  const idIn = async (split: string, role: string): Promise<string> => {
    const { stdout } = await understudy(
      "dataset",
      "show",
      "greenroom",
      "--split",
      split,
      "--role",
      role,
      "--json",
    );
    const { dialogues } = z
      .object({ dialogues: z.array(z.object({ id: z.string(), role: z.string(), turns: z.int() })) })
      .parse(JSON.parse(stdout));
    expect(dialogues.every((row) => row.role === role)).toBe(true);
    return dialogues.find(({ turns }) => turns > 1)?.id ?? "";
  };

  it("lists the dialogues of a split, and of a role in it", async () => {
    const all = await understudy("dataset", "show", "greenroom", "--split", "train");
    expect(all.stdout.match(/^[a-z0-9_]+-(?:single|multi)-[0-9a-f]+ /gm)).toHaveLength(64);
    const none = await understudy("dataset", "show", "greenroom", "--split", "ood", "--role", "金葫芦");
    expect(none.stdout).toBe("ood has no dialogues of 金葫芦\n");
    const cut = await runUnderstudy(["dataset", "show", "greenroom", "--split", "test"], {
      cwd: root,
      isTerminal: true,
    });
    expect(cut.stdout).toContain("and 14 more: --role ROLE shows those of one role, --json all");
  });

  it("shows a dialogue with its turns and writes its clips", async () => {
    const id = await idIn("test", "jin_hulu");
    const folder = join(root, "listen 听");
    const { stdout } = await understudy(
      "dataset",
      "show",
      "greenroom",
      "--dialogue",
      id,
      "--play",
      "listen 听",
    );
    expect(stdout).toMatch(/^ {2}role +金葫芦 \(jin_hulu\)$/m);
    expect(stdout).toMatch(/^ {2}split +test$/m);
    expect(stdout).toContain(`WAV files to ${folder}`);
    const files = await readdir(folder);
    expect(files).toContain(`${id}-2-user.wav`);
    expect(files).toContain(`${id}-1-e2_tts.wav`);
    const dataset = await openDataset(projectAt(root), "greenroom");
    const clip = await dataset.audio(id, 1, "user");
    await dataset.close();
    expect(Buffer.from(clip?.bytes ?? []).equals(await readFile(join(folder, `${id}-2-user.wav`)))).toBe(
      true,
    );
    const json = await understudy("dataset", "show", "greenroom", "--dialogue", id, "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      id,
      split: "test",
      role: "jin_hulu",
      heldOut: false,
      folder: null,
      turns: [{ index: 0, clips: [{ voice: "user", codec: "wav", file: null }, {}, {}, {}] }, {}],
    });
  });

  it("writes FLAC clips as WAV", async () => {
    const project = await projectWith((corpus) => (corpus.spec["audio"] = { codec: "flac" }));
    const inProject = (...words: string[]): Promise<RunOutcome> =>
      runUnderstudy(words, { cwd: project.root });
    await inProject("dataset", "pack", "small");
    const dataset = await openDataset(project, "small");
    const ids: string[] = [];
    for await (const { id } of dataset.texts("dev")) ids.push(id);
    await dataset.close();
    const shown = await inProject("dataset", "show", "small", "--dialogue", ids[0] ?? "", "--play", "out");
    expect(shown).toMatchObject({ exitCode: 0, stderr: "" });
    const wav = await readFile(join(project.root, "out", `${ids[0]}-1-user.wav`));
    expect(isClip(wav)).toBe(true);
    expect(wav.length).toBe(44 + 0.05 * 32_000);
  });

  it("says what is wrong with what was asked", async () => {
    const wrong = async (...words: string[]): Promise<RunOutcome> =>
      understudy("dataset", "show", "greenroom", ...words);
    expect(await wrong("--dialogue", "nobody-single-1")).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('The data set "greenroom" has no dialogue nobody-single-1'),
    });
    expect((await wrong("--play", "x")).stderr).toContain("hint: add --dialogue ID");
    expect((await wrong("--drops", "--split", "dev")).stderr).toContain(
      "--split and --drops show different things",
    );
    expect((await wrong("--split", "training")).exitCode).toBe(2);
    await writeFile(join(root, "taken"), "");
    const id = await idIn("test", "jin_hulu");
    expect((await wrong("--dialogue", id, "--play", "taken/x")).stderr).toContain("hint: name a folder");
  });

  it("lists what was left out and that near-duplicates were not looked for", async () => {
    expect((await understudy("dataset", "show", "greenroom", "--drops")).stdout).toBe(
      "nothing was dropped\n",
    );
    expect((await understudy("dataset", "show", "greenroom", "--near")).stdout).toContain(
      "were not looked for",
    );
  });
});

describe("dataset check", () => {
  it("passes what was packed and says when the spec has moved on", async () => {
    const fine = await understudy("dataset", "check", "greenroom");
    expect(fine).toMatchObject({ exitCode: 0, stderr: "" });
    expect(fine.stdout).toContain("greenroom: 4 shards, ");
    expect(fine.stdout).toContain("184 dialogues, each with an id of its own");
    expect(fine.stdout).toContain("gate unique_ids: ok, 184 ids");
    const spec = join(projectAt(root).datasets, "greenroom.yaml");
    const before = await readFile(spec, "utf8");
    await writeFile(spec, before.replace("seed: 20", "seed: 21"));
    const moved = await understudy("dataset", "check", "greenroom");
    await writeFile(spec, before);
    expect(moved.stderr).toContain("greenroom.yaml has changed since greenroom was packed");
  });

  it("names what lies beside the shards, and packing again takes it away and says so", async () => {
    const data = join(projectAt(root).datasets, "packed/greenroom/data");
    await writeFile(join(data, "extra.parquet"), "PAR1");
    const refused = await understudy("dataset", "check", "greenroom");
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain("data/extra.parquet is not in the lock");
    expect(refused.stderr).toContain(`hint: move what is not in the lock out of ${data}, or delete it;`);
    const again = await understudy("dataset", "pack", "greenroom");
    expect(again.stdout).toContain("greenroom is packed already: nothing has changed");
    expect(again.stderr).toContain("data/extra.parquet was no part of greenroom");
    expect(again.stderr).toContain("it is deleted");
    expect(await understudy("dataset", "check", "greenroom")).toMatchObject({ exitCode: 0, stderr: "" });
    expect((await understudy("dataset", "pack", "greenroom")).stderr).toBe("");
  });

  it("refuses a shard that is not what was packed", async () => {
    const lock = await readLock(projectAt(root), "greenroom");
    const path = lock.splits.dev.shards[0]?.path ?? "";
    await truncate(join(projectAt(root).datasets, "packed/greenroom", path), 1000);
    const { exitCode, stderr } = await understudy("dataset", "check", "greenroom");
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`${path} has 1000 bytes`);
    expect(stderr).toContain("hint: pack them again: understudy dataset pack greenroom");
  });
});
