import { describe, expect, it } from "vitest";
import { secretsFrom } from "../../src/core/secrets.ts";
import { tellDoubts } from "../../src/cli/check-lines.ts";
import { printerFor, type Printer } from "../../src/cli/print.ts";

const printer = (
  isTerminal: boolean,
  json = false,
  now: () => number = () => 0,
  environment: Record<string, string> = {},
): { print: Printer; out: string[]; err: string[] } => {
  const out: string[] = [];
  const err: string[] = [];
  const world = {
    cwd: "/",
    environment: { NO_COLOR: "1", ...environment },
    stdout: { write: (text: string) => void out.push(text), isTerminal, width: 20 },
    stderr: { write: (text: string) => void err.push(text), isTerminal, width: 20 },
    clock: { now, sleep: () => Promise.resolve() },
    fetch: globalThis.fetch,
    signal: new AbortController().signal,
  };
  return { print: printerFor(world, secretsFrom({}), json), out, err };
};

describe("printerFor", () => {
  it("shows progress on one line of a terminal's stderr, cut to its width, and clears it for other text", () => {
    const { print, out, err } = printer(true);
    print.progress("packing 1 of 2");
    print.progress("packing 2 of 2, a …ery long text");
    print.line("done");
    expect(err).toEqual(["packing 1 of 2", "\r\u001b[K", "packing 2 of 2, a …", "\r\u001b[K"]);
    expect(out).toEqual(["done\n"]);
  });

  it("tells a log how it goes on after a minute, and the rarer the longer it takes", () => {
    let minute = 0;
    const { print, err } = printer(false, false, () => minute * 60_000);
    const lines = (until: number): number => {
      for (; minute <= until; minute += 0.25) print.progress(`packing\n${minute}`);
      return err.length;
    };
    expect(lines(0.75)).toBe(0);
    expect(lines(1)).toBe(1);
    expect(err).toEqual(["packing 1\n"]);
    expect([lines(10), lines(30), lines(24 * 60)]).toEqual([10, 20, 56]);
    print.progress("");
    minute = 10_000;
    print.progress("next look in 30 s", { passing: true });
    expect(err).toHaveLength(56);
    print.progress("packing", { passing: false });
    expect(err).toHaveLength(57);
  });

  it("goes on telling a log after its clock was set back", () => {
    let minute = 100;
    const { print, err } = printer(false, false, () => minute * 60_000);
    print.progress("packing");
    minute = 10;
    print.progress("packing");
    minute = 11;
    print.progress("packing 11");
    expect(err).toEqual(["packing 11\n"]);
  });

  it("takes a terminal that replaces no lines for a log", () => {
    let now = 0;
    const { print, err } = printer(true, false, () => now, { TERM: "dumb" });
    print.progress("packing 1");
    now = 60_000;
    print.progress("packing 2");
    print.line("done");
    expect(err).toEqual(["packing 2\n"]);
  });

  it("tells a log nothing under --json", () => {
    let now = 0;
    const { print, err } = printer(false, true, () => now);
    for (; now < 1e7; now += 60_000) print.progress("packing");
    expect(err).toEqual([]);
  });

  it("prints the result and nothing else under --json", () => {
    const { print, out, err } = printer(true, true);
    print.progress("packing");
    print.line("working");
    print.warn("careful");
    print.result({ a: 1 }, () => ["for people"]);
    expect(err).toEqual([]);
    expect(JSON.parse(out.join(""))).toEqual({ a: 1 });
  });

  it("calls a warning a warning, says what is not known, and what to do about either", () => {
    const { print, err } = printer(false);
    tellDoubts(
      [
        { name: "disk", outcome: "ok", detail: "900 GB free" },
        { name: "purge", outcome: "warning", detail: "files go after 30 days", hint: "copy them" },
        { name: "quota", outcome: "unknown", detail: "nobody answers", hint: "ask the site" },
        { name: "driver", outcome: "unknown", detail: "no GPU" },
      ],
      print,
    );
    expect(err).toEqual([
      "warning: purge: files go after 30 days; copy them\n",
      "not known: quota: nobody answers; ask the site\n",
      "not known: driver: no GPU\n",
    ]);
  });

  it("prints lines for people otherwise", () => {
    const { print, out, err } = printer(false);
    print.result({ a: 1 }, () => ["for", "people"]);
    print.warn("careful");
    expect(out.join("")).toBe("for\npeople\n");
    expect(err.join("")).toBe("warning: careful\n");
  });
});
