import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const PackageLock = z.object({
  packages: z.record(
    z.string(),
    z.object({ hasInstallScript: z.boolean().optional(), optional: z.boolean().optional() }),
  ),
});
const Versions = z.record(z.string(), z.string());
const PackageManifest = z.object({ dependencies: Versions, devDependencies: Versions });

const root = resolve(import.meta.dirname, "..");
const inGit = existsSync(join(root, ".git"));
const tracked = inGit
  ? execFileSync("git", ["-C", root, "ls-files", "-z"], { encoding: "utf8" })
      .split("\0")
      .filter((path) => path !== "" && existsSync(join(root, path)))
  : [];
const TEXT = new Set([
  ".ts",
  ".js",
  ".py",
  ".md",
  ".json",
  ".yaml",
  ".yml",
  ".sh",
  ".lock",
  ".in",
  ".toml",
  ".txt",
  "",
]);
const texts = tracked.filter(
  (path) => TEXT.has(extname(path)) && statSync(join(root, path)).size < 2_000_000,
);

describe.skipIf(!inGit)("committed files", () => {
  it("lock packages without an address, and no Node package runs a script at install", () => {
    const lock = readFileSync(join(root, "package-lock.json"), "utf8");
    expect(lock).not.toMatch(/"resolved"/);
    const { packages } = PackageLock.parse(JSON.parse(lock));
    const scripted = Object.entries(packages).filter(
      ([, entry]) => entry.hasInstallScript && !entry.optional,
    );
    // The scripts that remain would compile something; npm is told to run none, and these packages work without.
    expect(scripted.map(([name]) => name)).toEqual(["node_modules/ssh2"]);
    expect(readFileSync(join(root, ".npmrc"), "utf8").split("\n")).toContain("ignore-scripts=true");
    const python = tracked.filter((path) => /requirements[^/]*\.(lock|in)$/.test(path));
    expect(python.length).toBeGreaterThan(2);
    expect(python.filter((path) => readFileSync(join(root, path), "utf8").includes("://"))).toEqual([]);
  });

  it("name no folder of one machine", () => {
    const own = "test/committed-files.test.ts";
    const forbidden = /\/(?:root|home\/[a-z]+|work)\//;
    const found = texts.filter(
      (path) => path !== own && forbidden.test(readFileSync(join(root, path), "utf8")),
    );
    expect(found).toEqual([]);
  });

  it("are pinned exactly in package.json", () => {
    const manifest = PackageManifest.parse(JSON.parse(readFileSync(join(root, "package.json"), "utf8")));
    const versions = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([]);
  });

  it("leave packed shards, weights and state out, and keep the sample small", () => {
    expect(tracked.filter((path) => /\.(parquet|safetensors|pt|sqlite)$/.test(path))).toEqual([]);
    const sample = tracked.filter((path) => path.startsWith("datasets/greenroom/"));
    // As git keeps them: deflated one by one.
    const bytes = sample.reduce((sum, path) => sum + deflateSync(readFileSync(join(root, path))).length, 0);
    expect(bytes).toBeLessThan(14_000_000);
  });
});
