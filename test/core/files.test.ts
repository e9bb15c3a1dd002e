import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  appendJsonLine,
  exists,
  parseJson,
  readJson,
  readJsonLines,
  writeAtomic,
  writeJson,
} from "../../src/core/files.ts";
import { removeFolder } from "../support/remove-folder.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "files-"));
});
afterEach(async () => {
  removeFolder(folder);
});

const Row = z.strictObject({ n: z.int() });

describe("writeAtomic", () => {
  it("makes parents, replaces the content and leaves nothing else behind", async () => {
    const path = join(folder, "a", "b.txt");
    await writeAtomic(path, "one");
    await writeAtomic(path, "two");
    expect(await readFile(path, "utf8")).toBe("two");
    expect(await readdir(join(folder, "a"))).toEqual(["b.txt"]);
  });

  it("never shows half a file to a reader, even when the writer is killed", async () => {
    const path = join(folder, "big.txt");
    await writeAtomic(path, "0".repeat(1000));
    const module = resolve(import.meta.dirname, "../../dist/core/files.js");
    const script = `import { writeAtomic } from ${JSON.stringify(module)};
      process.stdout.write("go");
      for (let i = 0; ; i++) await writeAtomic(${JSON.stringify(path)}, String(i % 10).repeat(4_000_000));`;
    const writer = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(writer.stdout, "data");
    for (let look = 0; look < 20; look++) {
      const text = await readFile(path, "utf8");
      expect(new Set(text).size).toBe(1);
      expect([1000, 4_000_000]).toContain(text.length);
    }
    writer.kill("SIGKILL");
    await once(writer, "exit");
    expect(new Set(await readFile(path, "utf8")).size).toBe(1);
  });
});

describe("JSON", () => {
  it("goes through a schema and says what is wrong where", async () => {
    const path = join(folder, "x.json");
    await writeJson(path, { n: 1 });
    expect(await readJson(path, Row)).toEqual({ n: 1 });
    await writeFile(path, '{"n":"one","m":2}');
    await expect(readJson(path, Row)).rejects.toThrow(/x\.json is not what was expected:\n {2}n: /);
    await writeFile(path, "{");
    await expect(readJson(path, Row)).rejects.toMatchObject({ code: "JSON_INVALID" });
    await expect(readJson(join(folder, "none.json"), Row)).rejects.toMatchObject({ code: "FILE_MISSING" });
    expect(() => parseJson("[]", Row, "there")).toThrow(/\(whole file\)/);
  });

  it("reads JSON lines, counts a torn last one and refuses a broken middle one", async () => {
    const path = join(folder, "x.jsonl");
    await appendJsonLine(path, { n: 1 });
    await appendJsonLine(path, { n: 2 });
    await writeFile(path, '{"n":3', { flag: "a" });
    expect(await readJsonLines(path, Row)).toEqual({ rows: [{ n: 1 }, { n: 2 }], torn: 1 });
    await writeFile(path, 'x\n{"n":4}\n', { flag: "a" });
    await expect(readJsonLines(path, Row)).rejects.toThrow(/x\.jsonl:3 is not valid JSON/);
    expect(await readJsonLines(join(folder, "none.jsonl"), Row)).toEqual({ rows: [], torn: 0 });
    expect(await exists(join(folder, "none.jsonl"))).toBe(false);
  });
});
