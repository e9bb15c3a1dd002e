import { describe, expect, it } from "vitest";
import { exists } from "../../src/core/files.ts";
import type { Project } from "../../src/core/project.ts";
import { lockFile, packDataset, packShare, parseShare } from "../../src/dataset/index.ts";
import { projectWith, turnAt, type Corpus } from "./corpus.ts";

const CLIP = "train/multi_speech/Thor/1_1_user.wav";
const spoilt = async (): Promise<Project> =>
  projectWith((corpus: Corpus) => corpus.files.set(CLIP, "not audio at all"));
const strict = async (project: Project): ReturnType<typeof packDataset> =>
  packDataset({ project, name: "small", strict: true });
const REFUSED = {
  code: "DIALOGUE_BAD",
  message: expect.stringMatching(
    /^Thor, train\/multi\/Thor\.json: "[^"]+", turn 2: audio_not_wav: user audio train\/multi_speech/,
  ),
};

describe("a strict pack", () => {
  it("stops at a dialogue that an earlier, lenient pack has left out", async () => {
    const project = await spoilt();
    expect((await packDataset({ project, name: "small" })).lock.drops.byReason).toEqual({ audio_not_wav: 1 });
    await expect(strict(project)).rejects.toMatchObject(REFUSED);
    expect(await packDataset({ project, name: "small" })).toMatchObject({ reused: true });
  });

  it("stops at what another part of the work has left out", async () => {
    const project = await spoilt();
    for (const share of ["1/2", "2/2"]) await packShare({ project, name: "small" }, parseShare(share));
    expect(await exists(lockFile(project, "small"))).toBe(false);
    await expect(strict(project)).rejects.toMatchObject(REFUSED);
  });

  it("takes no offence at repetitions, and does nothing the second time", async () => {
    const project = await projectWith((corpus) => {
      const [first, second] = [0, 1].map((dialogue) =>
        turnAt(corpus, "train/single/Thor.json", { dialogue, turn: 0 }),
      );
      if (first && second) Object.assign(second, { user: first.user, role: first.role });
    });
    expect((await strict(project)).lock.drops.byReason).toEqual({ duplicate: 1 });
    expect(await strict(project)).toMatchObject({ reused: true });
  });
});
