import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { COMMANDS, wordsOf } from "../src/cli/command-table.ts";

const Manifest = z.object({ scripts: z.record(z.string(), z.string()) });
const root = resolve(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");
const SKIPPED = new Set(["node_modules", ".understudy", ".git", "dist", "packed", "greenroom"]);

const pages = (folder: string): string[] =>
  readdirSync(join(root, folder)).flatMap((name) => {
    const path = join(folder, name);
    if (SKIPPED.has(name)) return [];
    if (statSync(join(root, path)).isDirectory()) return pages(path);
    return name.endsWith(".md") ? [path] : [];
  });

/** Lines that start with `$ ` in the console blocks of a page, without their comments. */
const commandsIn = (text: string): string[] =>
  [...text.matchAll(/^\$ (.+?)(?:\s+#.*)?$/gm)].map(([, command]) => command ?? "");

describe("README", () => {
  const readme = read("README.md");

  it("shows both commands on its first screen", () => {
    const firstScreen = readme.split("\n").slice(0, 25).join("\n");
    expect(firstScreen).toContain("npm run quickstart");
    expect(firstScreen).toContain("npm test");
  });

  it("names only npm scripts and commands that exist, with options they have", async () => {
    const { scripts } = Manifest.parse(JSON.parse(read("package.json")));
    const commands = commandsIn(readme);
    expect(commands.length).toBeGreaterThan(8);
    for (const command of commands) {
      const script = /^npm (?:run )?(\w+)$/.exec(command)?.[1];
      if (script !== undefined) expect(Object.keys(scripts)).toContain(script);
      else await expectKnown(command);
    }
  });

  it("has the folders, pages and files that it links to, like every other page", () => {
    for (const page of pages(".")) {
      for (const [, target = ""] of read(page).matchAll(/\]\(([^)#]+)(?:#[^)]*)?\)/g)) {
        if (/^[a-z]+:/.test(target)) continue;
        expect(existsSync(resolve(root, dirname(page), target)), `${page} links to ${target}`).toBe(true);
      }
    }
  });
});

async function expectKnown(command: string): Promise<void> {
  const words = command.replace(/^npx understudy /, "");
  expect(words, `${command} is no command of ours`).not.toBe(command);
  const entry = COMMANDS.find((candidate) => words.startsWith(wordsOf(candidate).join(" ")));
  expect(entry, `${command} is not in the command table`).toBeDefined();
  const definition = await entry?.load();
  const known = Object.entries(definition?.options ?? {}).flatMap(([name, { alias }]) => [
    `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    ...(alias === undefined ? [] : [`-${alias}`]),
  ]);
  for (const option of words.split(" ").filter((word) => word.startsWith("-") && word !== "--json")) {
    expect(known, `${command}: ${option}`).toContain(option);
  }
}
