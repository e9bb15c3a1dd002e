import { describe, expect, it } from "vitest";
import { progressText, showPackProgress } from "../../src/cli/commands/dataset/pack-progress.ts";
import { projectWith } from "../dataset/corpus.ts";
import { runUnderstudy, type RunOutcome } from "../support/run-understudy.ts";

describe("dataset pack of a corpus with faults", () => {
  const broken = async (): Promise<(...words: string[]) => Promise<RunOutcome>> => {
    const { root: cwd } = await projectWith((corpus) => {
      const path = "train/single_speech/Thor/1_0_role.wav";
      corpus.files.set(path, corpus.files.get(path)?.slice(0, 500) ?? "");
      corpus.spec["expected"] = { roles: 5 };
    });
    return (...words) => runUnderstudy(words, { cwd });
  };

  it("names the violated gate, and packs when it is allowed with a reason", async () => {
    const inProject = await broken();
    const refused = await inProject("dataset", "pack", "small");
    expect(refused).toMatchObject({ exitCode: 2, stdout: "" });
    expect(refused.stderr).toContain("expected_counts: expected 5 roles, found 3");
    const bare = await inProject("dataset", "pack", "small", "--allow", "expected_counts");
    expect(bare.stderr).toContain('--allow takes GATE=REASON, not "expected_counts"');
    const unknown = await inProject("dataset", "pack", "small", "--allow", "gates=x");
    expect(unknown).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("role_membership") });
    const allow = ["--allow", "expected_counts=a=b, on purpose"];
    const packed = await inProject("dataset", "pack", "small", "--json", ...allow);
    expect(JSON.parse(packed.stdout)).toMatchObject({
      outcome: "packed",
      dropped: { audio_truncated: 1 },
      allowed: [{ gate: "expected_counts", reason: "a=b, on purpose" }],
      dialogues: 29,
    });
    const again = await inProject("dataset", "pack", "small", ...allow);
    expect(again.stderr).toContain("1 dropped; see why: understudy dataset show small --drops");
    expect(again.stderr).toContain("gate expected_counts is violated and was allowed");
    const shown = await inProject("dataset", "show", "small", "--drops", "--role", "Thor");
    expect(shown.stdout).toMatch(/^audio_truncated +Thor /m);
    expect((await inProject("dataset", "check", "small")).stdout).toContain(
      "gate expected_counts: VIOLATED and allowed (a=b, on purpose)",
    );
  });

  it("stops at the first fault when strict", async () => {
    const inProject = await broken();
    const { exitCode, stderr } = await inProject("dataset", "pack", "small", "--strict");
    expect(exitCode).toBe(2);
    expect(stderr).toContain("Thor");
  });

  it("takes a part of the work, and no nonsense for one", async () => {
    const { root: cwd } = await projectWith();
    const pack = (...words: string[]): Promise<RunOutcome> =>
      runUnderstudy(["dataset", "pack", "small", ...words], { cwd });
    expect((await pack("--shard", "3/2")).exitCode).toBe(2);
    expect((await pack("--threads", "0")).stderr).toContain("--threads takes a whole number from 1, not 0");
    const first = await pack("--shard", "1/2");
    expect(first.stdout).toMatch(
      /^This part of small is done; \d+ parts of the corpus are still to be checked by others$/m,
    );
    for (const part of ["2/2", "1/2", "2/2", "1/2"]) await pack("--shard", part);
    const done = await pack("--json");
    expect(JSON.parse(done.stdout)).toMatchObject({ outcome: "packed", reused: true });
  });
});

describe("the progress of a pack", () => {
  it("is a line with how much, how fast and how long", () => {
    const write = { phase: "write", done: 1200, total: 3600 } as const;
    expect(progressText("small", write, 80)).toBe(
      `packing small  ${"█".repeat(6)}${"─".repeat(14)}  1,200 of 3,600 dialogues, 80/s, 30 s left`,
    );
    expect(progressText("small", { phase: "check", done: 7, total: null }, undefined)).toBe(
      "checking small  7 dialogues",
    );
    expect(progressText("small", { phase: "check", done: 300, total: null, share: 0.25 }, 30)).toBe(
      `checking small  ${"█".repeat(5)}${"─".repeat(15)}  300 dialogues, about 25 %, 30/s, 30 s left`,
    );
    expect(progressText("small", { ...write, done: 3600 }, 2.34)).toContain(
      "3,600 of 3,600 dialogues, 2.3/s",
    );
    expect(progressText("small", { phase: "write", done: 0, total: 0 }, undefined)).toContain("█".repeat(20));
  });

  it("tells the rate of the last seconds, not of what was there already", () => {
    const lines: string[] = [];
    let now = 0;
    const context = {
      print: { progress: (text: string) => void lines.push(text) },
      clock: { now: () => now },
    };
    const show = showPackProgress(context, "small");
    show({ phase: "write", done: 50_000, total: 100_000 });
    for (let second = 1; second <= 60; second++) {
      now = second * 1000;
      show({ phase: "write", done: 50_000 + second * 100, total: 100_000 });
      show({ phase: "write", done: 50_000 + second * 100 + 1, total: 100_000 });
    }
    expect(lines).toHaveLength(61);
    expect(lines.at(-1)).toContain("56,000 of 100,000 dialogues, 100/s, 7 min 20 s left");
  });
});
