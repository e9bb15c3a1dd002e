import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative, resolve, sep } from "node:path";
import { describe, expect, it } from "vitest";

// The one place that holds the order. Imports may only point left, and only at another folder's index.ts
// (core files may be imported directly). `stats` and `audio` are leaves that stages may use.
const LAYERS = [
  "core",
  "stats",
  "audio",
  "dataset",
  "recipe",
  "launch",
  "track",
  "checkpoint",
  "evaluate",
  "report",
  "workflow",
  "dashboard",
  "cli",
  "main.ts",
];
const STAGES = ["dataset", "recipe", "launch", "track", "checkpoint", "evaluate", "report"];
const LEAVES = ["stats", "audio"];
const MAX_LINES = 250;

const root = resolve(import.meta.dirname, "..");
const source = join(root, "src");

interface Import {
  readonly file: string;
  readonly target: string;
}

const files = (folder: string): string[] =>
  readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : path.endsWith(".ts") ? [path] : [];
  });

const importsOf = (file: string, text: string): Import[] =>
  [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.{1,2}\/[^"]+)"/g)].map(([, specifier]) => ({
    file,
    target: resolve(file, "..", specifier ?? ""),
  }));

const layerOf = (path: string): string => relative(source, path).split(sep)[0] ?? "";

/** Sentences about imports that break the rule; empty when `from` may import `target`. */
export const violations = ({ file, target }: Import): string[] => {
  const from = layerOf(file);
  const to = layerOf(target);
  if (from === to) return [];
  const place = `${relative(root, file)} → ${relative(root, target)}`;
  if (LEAVES.includes(from) && to !== "core") return [`${place}: a leaf may import only core`];
  if (LAYERS.indexOf(to) > LAYERS.indexOf(from)) return [`${place}: imports may only point left`];
  const inside = relative(join(source, to), target);
  if (to !== "core" && inside !== "index.ts") return [`${place}: import ${to}/index.ts instead`];
  return [];
};

describe("architecture", () => {
  const all = files(source).map((file) => ({ file, text: readFileSync(file, "utf8") }));

  it("knows every folder under src", () => {
    const folders = readdirSync(source).filter((name) => name !== "README.md");
    expect(folders.filter((name) => !LAYERS.includes(name))).toEqual([]);
  });

  it("imports point left and only at a folder's face", () => {
    expect(all.flatMap(({ file, text }) => importsOf(file, text).flatMap(violations))).toEqual([]);
  });

  it("would catch an upward import, a side door and a leaf that reaches out", () => {
    const bad = (from: string, to: string): string[] =>
      violations({ file: join(source, from), target: join(source, to) });
    expect(bad("dataset/pack.ts", "cli/index.ts")).toHaveLength(1);
    expect(bad("recipe/load.ts", "dataset/schema.ts")).toHaveLength(1);
    expect(bad("stats/paired.ts", "dataset/index.ts")).toHaveLength(1);
    expect(bad("workflow/train.ts", "track/index.ts")).toHaveLength(0);
  });

  it("only main.ts touches the process", () => {
    const touching = all.filter(
      ({ file, text }) =>
        layerOf(file) !== "main.ts" &&
        /\bprocess\.(argv|env|exit|stdout|stderr|on|cwd)\b/.test(withoutComments(text)),
    );
    expect(touching.map(({ file }) => relative(root, file))).toEqual([]);
  });

  it("keeps files short", () => {
    const long = all.filter(({ text }) => text.split("\n").length > MAX_LINES + 1);
    expect(long.map(({ file }) => relative(root, file))).toEqual([]);
  });

  it("numbers the stages in the first line of their face", () => {
    for (const [position, stage] of STAGES.entries()) {
      const face = all.find(({ file }) => relative(source, file) === join(stage, "index.ts"));
      if (face)
        expect(face.text, stage).toMatch(new RegExp(`^// Stage ${position + 1} of ${STAGES.length}:`));
    }
  });
});

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\/\/.*$/gm, "");
}
