import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { sendFiles } from "../../../src/launch/slurm/send-files.ts";
import { localTransport } from "../../../src/launch/transport/index.ts";
import { temporaryFolder } from "../support.ts";

it("gives each file its mode, whatever the umask here, and folders that others can enter", async () => {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  const transport = localTransport({ clock: systemClock, environment: process.env });
  onTestFinished(async () => transport.close());
  const files = [0o600, 0o644, 0o755].map((mode) => ({
    path: join(folder.path, "attempts/1", mode.toString(8)),
    mode,
    text: `with mode ${mode.toString(8)}\n`,
  }));
  await sendFiles(transport, files);
  for (const { path, mode, text } of files) {
    expect((statSync(path).mode & 0o777).toString(8)).toBe(mode.toString(8));
    expect(readFileSync(path, "utf8")).toBe(text);
  }
  expect((statSync(join(folder.path, "attempts/1")).mode & 0o777).toString(8)).toBe("755");
});
