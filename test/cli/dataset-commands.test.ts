import { readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { projectAt } from "../../src/core/project.ts";
import { readLock } from "../../src/dataset/index.ts";
import { runUnderstudy, type RunOutcome } from "../support/run-understudy.ts";
import { makeProject } from "../support/temporary-project.ts";

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
  return () => rm(root, { recursive: true, force: true });
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
    expect(stdout).toMatch(/^train +64 +78 +1 min 51 s +1 +3\.6 MB$/m);
    expect(stdout).toMatch(/^金葫芦 {13}jin_hulu +zh +no +8 +2 +0 +4$/m);
    expect(stdout).toMatch(/^Captain Halyard +captain_halyard +en +yes +0 +0 +5 +4$/m);
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

describe("dataset check", () => {
  it("passes what was packed and says when the spec has moved on", async () => {
    const fine = await understudy("dataset", "check", "greenroom");
    expect(fine).toMatchObject({ exitCode: 0, stderr: "" });
    expect(fine.stdout).toContain("greenroom: 4 shards, ");
    const spec = join(projectAt(root).datasets, "greenroom.yaml");
    const before = await readFile(spec, "utf8");
    await writeFile(spec, before.replace("seed: 20", "seed: 21"));
    const moved = await understudy("dataset", "check", "greenroom");
    await writeFile(spec, before);
    expect(moved.stderr).toContain("greenroom.yaml has changed since greenroom was packed");
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
