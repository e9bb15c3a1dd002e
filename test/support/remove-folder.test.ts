import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { removeFolder } from "./remove-folder.ts";

// It makes files for half a second, and never the folder itself.
const WRITER = `
  const { writeFileSync } = require("node:fs");
  const end = Date.now() + 500;
  process.stdout.write("on");
  for (let i = 0; Date.now() < end; i++) try { writeFileSync(process.argv[1] + "/" + i, ""); } catch {}
`;

it("removes a folder into which another process still writes", async () => {
  const root = mkdtempSync(join(tmpdir(), "understudy-"));
  const inner = join(root, "runs", "1");
  mkdirSync(inner, { recursive: true });
  // As many as take longer to remove than the next one takes to be made.
  for (let file = 0; file < 2_000; file++) writeFileSync(join(inner, `old-${file}`), "");
  const writer = spawn(process.execPath, ["-e", WRITER, inner], { stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((resolve) => writer.once("exit", resolve));
  await new Promise((resolve) => writer.stdout.once("data", resolve));
  removeFolder(root);
  await ended;
  expect(existsSync(root)).toBe(false);
});
