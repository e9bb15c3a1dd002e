import { spawnSync } from "node:child_process";
import { mkdirSync, rmdirSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import { runUnderstudy, type RunOptions } from "../support/run-understudy.ts";

/**
 * What a command line says when it refuses: nothing on stdout, a sentence, and a hint unless `hint` is false. Nobody is
 * ever told that a wrong input is a bug of ours.
 */
export const refusal = async (
  words: readonly string[],
  options: RunOptions & { readonly exitCode: number; readonly hint?: false },
): Promise<string> => {
  const { exitCode, stdout, stderr } = await runUnderstudy(words, options);
  expect({ exitCode, stdout, stderr }).toMatchObject({ exitCode: options.exitCode, stdout: "" });
  expect(stderr).toMatch(options.hint === false ? /^error: \S/ : /^error: \S[\s\S]*\nhint: \S/);
  expect(stderr).not.toContain("bug in Understudy");
  // oxlint-disable-next-line no-control-regex -- that there is none is what is looked for
  expect(stderr).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f]/);
  return stderr;
};

const mounts = (words: readonly string[]): boolean => spawnSync("/bin/mount", words).status === 0;

/** True where this user may mount a small disk of memory, which most users may not. */
export const canMount = ((): boolean => {
  const folder = `/tmp/understudy-mount-${process.pid}`;
  mkdirSync(folder, { recursive: true });
  const could = mounts(["-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]);
  if (could) spawnSync("/bin/umount", [folder]);
  rmdirSync(folder);
  return could;
})();

export interface SmallDisk {
  grow(size: string): void;
}

/** Mounts a disk of this size (`64k`, `20m`) on a folder until the running test has finished. */
export const smallDisk = (folder: string, size: string): SmallDisk => {
  mkdirSync(folder, { recursive: true });
  if (!mounts(["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder])) throw new Error("cannot mount");
  onTestFinished(() => {
    spawnSync("/bin/umount", ["-l", folder]);
  });
  return {
    grow: (larger) => {
      if (!mounts(["-o", `remount,size=${larger}`, folder])) throw new Error("cannot remount");
    },
  };
};
