import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { execPath } from "node:process";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { exists } from "../../../src/core/files.ts";
import { sha256 } from "../../../src/core/hash.ts";
import { cachedEmbedder, VectorCache, type Embedder } from "../../../src/dataset/near/index.ts";
import { HEADER_BYTES, recordBytes } from "../../../src/dataset/near/vector-record.ts";
import { canMount, smallDisk } from "../../bad-input/support.ts";
import { temporaryProject } from "../../support/temporary-project.ts";
import { atDegrees, compass, FINGERPRINT } from "./support.ts";

const root = resolve(import.meta.dirname, "../../..");
const texts = ["10 degrees", "20 degrees", "30 degrees", "40 degrees"];
const expected = [10, 20, 30, 40].map(atDegrees);

const cacheFolder = async (): Promise<string> => join((await temporaryProject()).state, "embeddings");
const opened = (folder: string): VectorCache => new VectorCache(folder, FINGERPRINT, systemClock);

/** Embeds through a new cache object, as another process would; returns the texts that were asked for. */
const embedAgain = async (folder: string, wanted = texts): Promise<string[]> => {
  const asked: string[] = [];
  const vectors = await cachedEmbedder(compass(asked), opened(folder)).embed(wanted);
  expect(vectors).toEqual(wanted.map((text) => atDegrees(Number.parseFloat(text))));
  return asked;
};

describe("the cache of vectors", () => {
  it("asks for a text once, whichever process asks, and in no order", async () => {
    const folder = await cacheFolder();
    expect(await embedAgain(folder, ["10 degrees", "20 degrees", "10 degrees"])).toEqual(texts.slice(0, 2));
    expect(await embedAgain(folder, texts.toReversed())).toEqual(["40 degrees", "30 degrees"]);
    expect(await embedAgain(folder)).toEqual([]);
    expect((await readFile(opened(folder).path)).length).toBe(HEADER_BYTES + 4 * recordBytes(2));
  });

  it("is by the exact text: another space is another text", async () => {
    const folder = await cacheFolder();
    await embedAgain(folder, ["10 degrees"]);
    expect(await embedAgain(folder, ["10  degrees"])).toEqual(["10  degrees"]);
  });

  it("makes nothing before there is something to keep", async () => {
    const folder = await cacheFolder();
    expect(await opened(folder).get(["00"])).toEqual([undefined]);
    expect(await exists(folder)).toBe(false);
  });

  it("keeps other models in other files, and refuses a file of another model", async () => {
    const folder = await cacheFolder();
    await embedAgain(folder);
    const other = new VectorCache(folder, { ...FINGERPRINT, dtype: "q8" }, systemClock);
    expect(await other.get(texts.map((text) => sha256(text)))).toEqual(texts.map(() => undefined));
    await cp(opened(folder).path, other.path);
    const error = { code: "VECTOR_CACHE_INVALID", hint: "delete it: its texts are embedded again" };
    await expect(other.get([sha256("10 degrees")])).rejects.toMatchObject(error);
    await expect(other.add([{ key: sha256("a"), vector: atDegrees(1) }])).rejects.toMatchObject(error);
  });

  it("begins anew when somebody deletes its file while it is in use", async () => {
    const folder = await cacheFolder();
    const cache = opened(folder);
    await cachedEmbedder(compass(), cache).embed(texts);
    await rm(cache.path);
    await embedAgain(folder, ["40 degrees"]);
    const asked: string[] = [];
    expect(await cachedEmbedder(compass(asked), cache).embed(texts)).toEqual(expected);
    expect(asked).toEqual(texts.slice(0, 3));
  });
});

describe("a cache that was torn", () => {
  it("at any byte gives what was whole, and is whole again after the next write", async () => {
    const folder = await cacheFolder();
    await embedAgain(folder, texts.slice(0, 3));
    const { path } = opened(folder);
    const whole = await readFile(path);
    for (let length = 0; length <= whole.length; length += 1) {
      await writeFile(path, whole.subarray(0, length));
      const left = Math.max(0, Math.floor((length - HEADER_BYTES) / recordBytes(2)));
      expect(await embedAgain(folder), `cut at ${length}`).toEqual(texts.slice(left));
      expect(await embedAgain(folder), `after the cut at ${length}`).toEqual([]);
      expect((await readFile(path)).length).toBe(HEADER_BYTES + 4 * recordBytes(2));
    }
  });

  it("at any byte of a record that holds something else counts as without that record", async () => {
    const folder = await cacheFolder();
    await embedAgain(folder, texts.slice(0, 3));
    const { path } = opened(folder);
    const whole = await readFile(path);
    for (let byte = 0; byte < recordBytes(2); byte += 1) {
      const changed = Buffer.from(whole);
      const at = HEADER_BYTES + recordBytes(2) + byte;
      changed[at] = (changed[at] ?? 0) ^ 0x10;
      await writeFile(path, changed);
      expect(await embedAgain(folder), `byte ${byte}`).toEqual(["20 degrees", "40 degrees"]);
      expect(await embedAgain(folder), `after byte ${byte}`).toEqual([]);
    }
  });

  it("into zeros, as a lost power leaves it, loses the zeros alone", async () => {
    const folder = await cacheFolder();
    await embedAgain(folder, texts.slice(0, 2));
    const { path } = opened(folder);
    await truncate(path, HEADER_BYTES + 3 * recordBytes(2) + 5);
    expect(await embedAgain(folder)).toEqual(texts.slice(2));
    expect(await embedAgain(folder)).toEqual([]);
  });
});

// Embeds slowly through the cache, in parts; says when a part is on disk.
const CHILD = `
import { runnerImport } from "vite";
const load = async (path) => (await runnerImport(path, { configFile: false, logLevel: "silent" })).module;
const { cachedEmbedder, VectorCache } = await load("./src/dataset/near/index.ts");
const { systemClock } = await load("./src/core/clock.ts");
const [folder, fingerprint, first, count] = process.argv.slice(1);
const embedder = {
  fingerprint: JSON.parse(fingerprint),
  close: async () => undefined,
  embed: async (texts) => texts.map((text) => Float32Array.of(Number(text), Number(first))),
};
const cache = new VectorCache(folder, embedder.fingerprint, systemClock);
const texts = Array.from({ length: Number(count) }, (_, index) => String(index));
const vectors = await cachedEmbedder(embedder, cache, () => process.stdout.write("part\\n")).embed(texts);
process.stdout.write(JSON.stringify(vectors.map((vector) => vector[1])) + "\\n");
`;

const startChild = (folder: string, first: number, count: number): ReturnType<typeof spawn> =>
  spawn(
    execPath,
    [
      "--input-type=module",
      "--eval",
      CHILD,
      folder,
      JSON.stringify(FINGERPRINT),
      String(first),
      String(count),
    ],
    { cwd: root, stdio: ["ignore", "pipe", "inherit"] },
  );

describe("several processes", () => {
  it("agree on one vector for each text: the one that was written first", async () => {
    const folder = await cacheFolder();
    const outputs = await Promise.all(
      [1, 2, 3].map(async (first) => {
        const child = startChild(folder, first, 700);
        let out = "";
        child.stdout?.on("data", (data: Buffer) => (out += data.toString()));
        await once(child, "close");
        return out.trim().split("\n").at(-1);
      }),
    );
    expect(JSON.parse(outputs[0] ?? "")).toHaveLength(700);
    const keys = Array.from({ length: 700 }, (_, index) => sha256(String(index)));
    const held = (await opened(folder).get(keys)).map((vector) => vector?.[1]);
    expect(held.filter((first) => first === undefined)).toEqual([]);
    expect((await readFile(opened(folder).path)).length).toBe(HEADER_BYTES + 700 * recordBytes(2));
    for (const output of outputs) expect(JSON.parse(output ?? "")).toEqual(held);
  });

  it("lose what was not on disk alone when they are killed", async () => {
    const folder = await cacheFolder();
    const child = startChild(folder, 7, 50_000);
    const ended = once(child, "exit");
    await once(child.stdout ?? child, "data");
    child.kill("SIGKILL");
    await ended;
    const wanted = Array.from({ length: 50_000 }, (_, index) => String(index));
    const held = await opened(folder).get(wanted.map((text) => sha256(text)));
    const kept = held.filter((vector) => vector !== undefined);
    expect(kept.length).toBeGreaterThanOrEqual(256);
    expect(kept.length).toBeLessThan(50_000);
    const asked: string[] = [];
    const embedder: Embedder = {
      fingerprint: FINGERPRINT,
      close: async () => undefined,
      embed: async (more) => {
        asked.push(...more);
        return more.map((text) => Float32Array.of(Number(text), 7));
      },
    };
    const next = kept.length + 300;
    const vectors = await cachedEmbedder(embedder, opened(folder)).embed(wanted.slice(0, next));
    expect(asked).toEqual(wanted.slice(kept.length, next));
    expect(vectors).toEqual(wanted.slice(0, next).map((text) => Float32Array.of(Number(text), 7)));
  });
});

describe.skipIf(!canMount)("a disk that fills up", () => {
  it("is told; what fitted is kept, and the rest is embedded when there is space", async () => {
    const project = await temporaryProject();
    const folder = join(project.root, "small-disk");
    const disk = smallDisk(folder, "64k");
    const many = Array.from({ length: 3000 }, (_, index) => `${index / 10} degrees`);
    const asked: string[] = [];
    const full = cachedEmbedder(compass(asked), opened(folder)).embed(many);
    await expect(full).rejects.toMatchObject({ code: "DISK_FULL" });
    expect(asked.length).toBeLessThan(3000);
    disk.grow("4m");
    const rest: string[] = [];
    const vectors = await cachedEmbedder(compass(rest), opened(folder)).embed(many);
    expect(vectors).toEqual(many.map((text) => atDegrees(Number.parseFloat(text))));
    expect(rest.length).toBeLessThan(3000);
    expect(await embedAgain(folder, many)).toEqual([]);
  });
});
