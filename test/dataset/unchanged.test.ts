import fs, { chmodSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadSpec } from "../../src/dataset/load-spec.ts";
import type { Entry } from "../../src/dataset/pack/entry.ts";
import { openHand, type Hand } from "../../src/dataset/pack/hand.ts";
import { openSource } from "../../src/dataset/source/open-source.ts";
import { projectWith } from "./corpus.ts";

const CLIP = "train/multi_speech/Thor/1_1_role.wav";
const watch = { onDialogues: (): void => undefined, signal: undefined };

interface Surveyed {
  readonly hand: Hand;
  readonly entries: readonly Entry[];
  readonly clip: string;
}

// Whether a file is what it was can be told by its times only when they are not of this very moment.
const surveyed = async (rest: number): Promise<Surveyed> => {
  const project = await projectWith();
  const loaded = await loadSpec(project, "small");
  const source = await openSource(loaded, project);
  await wait(rest);
  const hand = await openHand({ project, loaded, strict: false });
  const entries: Entry[] = [];
  for (const unit of source.units) entries.push(...(await hand.survey(unit, watch)).entries);
  return { hand, entries, clip: join(loaded.sourceFolder, CLIP) };
};
const written = async ({ hand, entries }: Surveyed): Promise<string> =>
  (await hand.write({ path: "data/train-00000-of-00001.parquet", entries }, watch)).sha256;

const replaced = (clip: string): void => {
  const { atime, mtime } = statSync(clip);
  const bytes = readFileSync(clip);
  bytes[100] = (bytes[100] ?? 0) ^ 1;
  writeFileSync(clip, bytes);
  utimesSync(clip, atime, mtime);
};

describe("a corpus between its two readings", () => {
  it("is not hashed again where its files are those that were surveyed", async () => {
    const made = await surveyed(2_700);
    expect(made.entries.every(({ fingerprint }) => fingerprint !== null)).toBe(true);
    // Had the samples been hashed again, they would not be these.
    const trusting = made.entries.map((entry) => ({ ...entry, contentSha256: "0".repeat(64) }));
    await expect(written({ ...made, entries: trusting })).resolves.toMatch(/^[0-9a-f]{64}$/);
    await made.hand.close();
  });

  it("may be touched where its samples stay", async () => {
    const made = await surveyed(2_700);
    const before = await written(made);
    chmodSync(made.clip, 0o600);
    utimesSync(made.clip, new Date(), new Date());
    expect(await written(made)).toBe(before);
    await made.hand.close();
  });

  it.each([2_700, 0])(
    "is refused with one bit changed, size and time the same (after %s ms)",
    async (rest) => {
      const made = await surveyed(rest);
      replaced(made.clip);
      await expect(written(made)).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
      await made.hand.close();
    },
  );

  it("is refused where a file is written while it is read", async () => {
    const made = await surveyed(2_700);
    whenOpened(made.clip, () => replaced(made.clip));
    await expect(written(made)).rejects.toMatchObject({ code: "SOURCE_CHANGED" });
    await made.hand.close();
  });
});

// Between the first look at a file and the reading of its bytes.
function whenOpened(path: string, act: () => void): void {
  const { ino } = statSync(path);
  const look = fs.fstatSync;
  let isDone = false;
  const restore = (): void => {
    fs.fstatSync = look;
    syncBuiltinESMExports();
  };
  const watched = (...words: Parameters<typeof look>): ReturnType<typeof look> => {
    const found = look(...words);
    if (!isDone && Number(found?.ino) === ino) {
      isDone = true;
      act();
    }
    return found;
  };
  fs.fstatSync = Object.assign(watched, look);
  syncBuiltinESMExports();
  onTestFinished(restore);
}
