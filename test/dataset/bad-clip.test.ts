import { rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { packDataset } from "../../src/dataset/index.ts";
import { data, fmt, riff, s16, sine } from "../audio/build-wav.ts";
import { projectWith } from "./corpus.ts";

const CLIP = "train/multi_speech/Thor/1_1_user.wav";
const samples = s16(sine(440, 16_000, { seconds: 0.1 }));

describe("a clip that the machine cannot read", () => {
  it("stops the pack instead of shrinking the data set", async () => {
    const project = await projectWith();
    const clip = join(project.datasets, "small", CLIP);
    // A link that leads to itself: a name that exists and cannot be opened, for root too.
    await rm(clip);
    await symlink(clip, clip);
    await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({
      code: "SOURCE_UNREADABLE",
      message: expect.stringContaining("1_1_user.wav"),
    });
  });
});

describe("a link that leads to itself, and that no dialogue names", () => {
  it("stops nobody", async () => {
    const project = await projectWith();
    const stray = join(project.datasets, "small", "train", "stray");
    await symlink(stray, stray);
    expect((await packDataset({ project, name: "small" })).lock.drops.list).toEqual([]);
  });
});

describe("onBadClip: fail", () => {
  it("stops at hiss as at any silence", async () => {
    const project = await projectWith((corpus) => {
      corpus.spec["audio"] = { onBadClip: "fail" };
      const hiss = Array.from({ length: 1_600 }, (_, n) => (n % 3) * 10);
      corpus.files.set(CLIP, riff([fmt(), data(s16(hiss))]));
    });
    await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({
      code: "CLIP_BAD",
      message: expect.stringContaining("1_1_user.wav: its loudest sample has -64 dBFS"),
    });
  });

  it("stops and names role, file, dialogue, turn, clip and fault", async () => {
    const project = await projectWith((corpus) => {
      corpus.spec["audio"] = { onBadClip: "fail" };
      corpus.files.set(CLIP, riff([fmt(), data(samples, { size: 90_000 })]));
    });
    await expect(packDataset({ project, name: "small" })).rejects.toMatchObject({
      code: "CLIP_BAD",
      message: expect.stringMatching(
        /^Thor, train\/multi\/Thor\.json dialogue 2 \(thor-multi-[0-9a-f]{12}\), turn 2: user audio train\/multi_speech\/Thor\/1_1_user\.wav: the audio is cut off/,
      ),
    });
  });
});
