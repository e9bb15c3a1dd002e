import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { readLog } from "../../../src/launch/local/logs.ts";
import { temporaryFolder } from "../support.ts";

const fresh = (): string => join(temporaryFolder().path, "log.txt");

const readAll = async (path: string, offset: number): Promise<{ lines: string[]; offset: number }> => {
  const lines: string[] = [];
  const options = { follow: false, signal: new AbortController().signal };
  for await (const chunk of readLog(path, { offset }, options, systemClock)) {
    lines.push(...chunk.lines);
    ({ offset } = chunk.cursor);
  }
  return { lines, offset };
};

describe("readLog", () => {
  it("yields nothing for a log that is not there", async () => {
    expect(await readAll(fresh(), 0)).toEqual({ lines: [], offset: 0 });
  });

  it("yields each line once, wherever the bytes are cut between two readings", async () => {
    const text = "eins\n\nzwei – ü\r\n你好\n";
    const bytes = Buffer.from(text);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const path = fresh();
      writeFileSync(path, bytes.subarray(0, cut));
      const first = await readAll(path, 0);
      appendFileSync(path, bytes.subarray(cut));
      const second = await readAll(path, first.offset);
      expect([...first.lines, ...second.lines]).toEqual(text.split("\n").slice(0, -1));
      expect(second.offset).toBe(bytes.length);
    }
  });

  it("crosses block borders, and cuts a line that never ends", async () => {
    const path = fresh();
    const long = "x".repeat(200_000);
    writeFileSync(path, `${long}\nshort\n${"é".repeat(60_000)}\n`);
    expect((await readAll(path, 0)).lines).toEqual([long, "short", "é".repeat(60_000)]);
    const endless = fresh();
    writeFileSync(endless, "y".repeat(3_000_000));
    const { lines, offset } = await readAll(endless, 0);
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.join("").length).toBe(offset);
  });
});
