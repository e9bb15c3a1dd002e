import { mkdirSync, mkdtempSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { sha256 } from "../../src/core/hash.ts";
import { folderDigests } from "../../src/workflow/file-digests.ts";
import type { KnownFile } from "../../src/workflow/place.ts";
import { removeFolder } from "../support/remove-folder.ts";

interface Weights {
  readonly folder: string;
  readonly cache: string;
  readonly hashed: string[];
  digests(signal?: AbortSignal): Promise<readonly KnownFile[]>;
}

const weights = (): Weights => {
  const root = mkdtempSync(join(tmpdir(), "understudy-digests-"));
  onTestFinished(() => removeFolder(root));
  const folder = join(root, "model");
  const cache = join(root, "model.digests.json");
  mkdirSync(join(folder, "deep"), { recursive: true });
  writeFileSync(join(folder, "b.json"), "b");
  writeFileSync(join(folder, "deep/a.bin"), "aa");
  const hashed: string[] = [];
  return {
    folder,
    cache,
    hashed,
    digests: async (signal = new AbortController().signal) =>
      folderDigests(folder, { cache, signal, onHash: ({ path }) => void hashed.push(path) }),
  };
};

describe("folderDigests", () => {
  it("reads every file once, below folders and behind links, and no hidden one", async () => {
    const made = weights();
    mkdirSync(join(made.folder, ".cache"));
    writeFileSync(join(made.folder, ".cache/lock"), "x");
    writeFileSync(join(made.folder, ".hidden"), "x");
    symlinkSync(join(made.folder, "b.json"), join(made.folder, "linked.json"));
    const first = await made.digests();
    expect(first).toEqual([
      { path: "b.json", bytes: 1, sha256: sha256("b") },
      { path: "deep/a.bin", bytes: 2, sha256: sha256("aa") },
      { path: "linked.json", bytes: 1, sha256: sha256("b") },
    ]);
    expect(await made.digests()).toEqual(first);
    expect(made.hashed).toEqual(["b.json", "deep/a.bin", "linked.json"]);
  });

  it("reads a file again that has another size or time of change", async () => {
    const made = weights();
    await made.digests();
    const before = statSync(join(made.folder, "b.json"));
    writeFileSync(join(made.folder, "b.json"), "B");
    utimesSync(join(made.folder, "b.json"), before.atime, new Date(before.mtimeMs + 5));
    writeFileSync(join(made.folder, "deep/a.bin"), "aaa");
    expect((await made.digests()).map((file) => file.sha256)).toEqual([sha256("B"), sha256("aaa")]);
    expect(made.hashed).toEqual(["b.json", "deep/a.bin", "b.json", "deep/a.bin"]);
  });

  it("keeps what it has read when it is interrupted", async () => {
    const made = weights();
    const controller = new AbortController();
    const stopped = folderDigests(made.folder, {
      cache: made.cache,
      signal: controller.signal,
      onHash: ({ path }) => {
        made.hashed.push(path);
        controller.abort(new Error("stop"));
      },
    });
    await expect(stopped).rejects.toThrow("stop");
    await made.digests();
    expect(made.hashed).toEqual(["b.json", "deep/a.bin"]);
  });

  it("does without a memory that cannot be read", async () => {
    const made = weights();
    writeFileSync(made.cache, "{ torn");
    expect(await made.digests()).toHaveLength(2);
  });
});
