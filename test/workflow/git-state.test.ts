import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { env } from "node:process";
import { describe, expect, it, onTestFinished } from "vitest";
import { sha256 } from "../../src/core/hash.ts";
import { projectAt } from "../../src/core/project.ts";
import { recordGit } from "../../src/workflow/git-state.ts";
import { removeFolder } from "../support/remove-folder.ts";

const repository = (): { root: string; git: (...args: string[]) => string; kept: string } => {
  const root = mkdtempSync(join(tmpdir(), "git-state-"));
  const kept = mkdtempSync(join(tmpdir(), "git-kept-"));
  onTestFinished(() => {
    for (const folder of [root, kept]) removeFolder(folder);
  });
  const git = (...args: string[]): string => execFileSync("git", ["-C", root, ...args], { encoding: "utf8" });
  git("init", "-q");
  git("config", "user.name", "t");
  git("config", "user.email", "t@example.invalid");
  writeFileSync(join(root, "a.txt"), "one\ntwo\nthree\n\n");
  writeFileSync(join(root, "b.bin"), Buffer.from([0, 1, 2, 3]));
  git("add", "-A");
  git("commit", "-qm", "first");
  return { root, git, kept };
};

const world = (root: string): Parameters<typeof recordGit>[0] => ({
  environment: { PATH: env["PATH"], HOME: root },
  project: projectAt(root),
});

describe("recordGit", () => {
  it("keeps a patch that git applies, whatever the person's git is set to", async () => {
    const { root, git, kept } = repository();
    git("config", "color.ui", "always");
    git("config", "diff.external", "false");
    writeFileSync(join(root, "a.txt"), "one\nTWO\nthree\n\n");
    writeFileSync(join(root, "b.bin"), Buffer.from([9, 9, 0, 9]));
    const found = await recordGit(world(root), kept);
    const patch = readFileSync(join(kept, "uncommitted.patch"));
    expect(found).toEqual({
      commit: git("rev-parse", "HEAD").trim(),
      dirty: true,
      patchSha256: sha256(patch),
    });
    git("checkout", "-q", "--", ".");
    git("apply", join(kept, "uncommitted.patch"));
    expect(readFileSync(join(root, "a.txt"), "utf8")).toBe("one\nTWO\nthree\n\n");
    expect([...readFileSync(join(root, "b.bin"))]).toEqual([9, 9, 0, 9]);
  });

  it("a file that git does not know makes it dirty, and is named", async () => {
    const { root, kept } = repository();
    writeFileSync(join(root, "recipe.yaml"), "x");
    expect(await recordGit(world(root), kept)).toMatchObject({ dirty: true, patchSha256: null });
    expect(readFileSync(join(kept, "untracked.txt"), "utf8")).toBe("recipe.yaml\n");
  });

  it("is clean only when git says so, and nothing at all outside of git", async () => {
    const { root, kept } = repository();
    expect(await recordGit(world(root), kept)).toMatchObject({ dirty: false, patchSha256: null });
    expect(existsSync(join(kept, "uncommitted.patch"))).toBe(false);
    rmSync(join(root, ".git", "index"));
    writeFileSync(join(root, ".git", "index"), "broken");
    expect(await recordGit(world(root), kept)).toMatchObject({ dirty: null });
    expect(await recordGit(world(kept), kept)).toBeNull();
  });
});
