import { mkdtemp, open, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryUsage } from "node:process";
import { describe, expect, it, onTestFinished } from "vitest";
import { ByteFault, jsonError, parseJsonBytes } from "../../src/dataset/json/bytes.ts";
import { arrayElements } from "../../src/dataset/json/elements.ts";
import { fileLines, type LineMark, type LineOptions } from "../../src/dataset/json/lines.ts";
import { parseStrictJson } from "../../src/dataset/json/parse.ts";
import { removeFolder } from "../support/remove-folder.ts";

const bytes = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));
const faultOf = (parse: () => unknown): string => {
  try {
    parse();
    return "no fault";
  } catch (error) {
    return error instanceof ByteFault ? `${error.offset}: ${error.message}` : `other: ${String(error)}`;
  }
};

describe("strict JSON", () => {
  it.each([
    '{"a": [1, -0.5e3, true, false, null, "x\\"\\\\\\n\\u00e9"], "": {}}',
    "[]",
    ' {"a":[[],[{}]]} ',
    '"\\\\"',
    "0",
    '{"__proto__": 1}',
  ])("reads what JSON.parse reads: %s", (text) => {
    expect(parseStrictJson(text)).toEqual(JSON.parse(text));
  });

  it.each([
    ['{"a":1,"a":2}', '7: the key "a" stands twice in one object'],
    ['{"é":1,"a":NaN}', '12: "NaN}" is not JSON'],
    ["[Infinity]", '1: "Infinity]" is not JSON'],
    ["[-Infinity]", '1: "-Infinity]" is not JSON'],
    ["[1,]", '3: "]" is not JSON'],
    ['{"a":1,}', "7: expected a key in double quotes"],
    ['{"a" 1}', '5: expected ":" but found "1"'],
    ["[1 2]", '3: expected "," but found "2"'],
    ["[01]", '1: "01]" is not JSON'],
    ['["a\nb"]', "1: the string that begins here holds a bad escape or a raw control character"],
    ['["\\x"]', "1: the string that begins here holds a bad escape or a raw control character"],
    ['["abc', "1: the string that begins here has no end"],
    ['{"a":', "5: the text ends where a value should be"],
    ["[1] x", "4: text after the end of the value"],
    ["// c\n1", '0: "// c\\n1" is not JSON'],
    ["[1]\ufeff", "3: text after the end of the value"],
    ['{"a": "\\ud800"} \ud800', "16: text after the end of the value"],
  ])("refuses %s", (text, expected) => {
    expect(faultOf(() => parseJsonBytes(bytes(text), 0))).toBe(expected);
  });

  it("skips a byte order mark at the start of a file and nowhere else", () => {
    expect(parseJsonBytes(bytes('\ufeff{"a": 1}'), 0)).toEqual({ a: 1 });
    expect(faultOf(() => parseJsonBytes(bytes("\ufeff1"), 5))).toBe('5: "\ufeff1" is not JSON');
    expect(faultOf(() => parseJsonBytes(bytes("\ufeff[NaN]"), 0))).toBe('4: "NaN]" is not JSON');
  });

  it.each(["utf16le", "latin1"] as const)("refuses %s", (encoding) => {
    const text = Buffer.from(encoding === "latin1" ? '["é"]' : "\ufeff[]", encoding);
    const expected =
      encoding === "latin1" ? "2: this byte is not UTF-8" : "0: the file is UTF-16: save it as UTF-8";
    expect(faultOf(() => parseJsonBytes(text, 0))).toBe(expected);
  });

  it("refuses endless nesting instead of overflowing the stack", () => {
    expect(faultOf(() => parseJsonBytes(bytes("[".repeat(100_000)), 0))).toContain("nested deeper than 64");
  });

  it("names the byte that is not UTF-8", () => {
    const broken = Uint8Array.from([...bytes('["胡'), 0xff, ...bytes('"]')]);
    expect(faultOf(() => parseJsonBytes(broken, 100))).toBe("105: this byte is not UTF-8");
    const cutOff = bytes('["胡').subarray(0, 4);
    expect(faultOf(() => parseJsonBytes(cutOff, 0))).toMatch(/^[234]: this byte is not UTF-8$/);
  });
});

describe("elements of an array in a file", () => {
  const written = async (text: string | Uint8Array): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), "understudy-json-"));
    onTestFinished(() => removeFolder(folder));
    const path = join(folder, "file.json");
    await writeFile(path, text);
    return path;
  };
  const elements = async (path: string): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const element of arrayElements(path)) found.push(parseJsonBytes(element.bytes, element.start));
    return found;
  };
  const messageOf = async (text: string | Uint8Array): Promise<string> => {
    const path = await written(text);
    const fault = await elements(path).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(fault instanceof ByteFault)) return "no fault";
    return (await jsonError(path, fault)).message.replace(path, "file.json");
  };

  it("are those of JSON.parse, across block borders, with their byte ranges", async () => {
    // Strings long enough to spread over several blocks, with brackets, quotes and escapes inside.
    const value = Array.from({ length: 40 }, (_, n) => ({
      n,
      text: `胡[]{},"\\${"x".repeat(n * 1_500)}`,
      list: [n, [n]],
    }));
    const text = JSON.stringify(value, null, 1);
    const path = await written(text);
    expect(await elements(path)).toEqual(value);
    for await (const { start, end, index } of arrayElements(path))
      expect(JSON.parse(Buffer.from(text).subarray(start, end).toString())).toEqual(value[index]);
  });

  it("come after a byte order mark, and are not taken from UTF-16", async () => {
    expect(await elements(await written('\ufeff[{"a": 1}]'))).toEqual([{ a: 1 }]);
    expect(await messageOf(Buffer.from("\ufeff[]", "utf16le"))).toBe(
      "file.json:1:1: the file is UTF-16: save it as UTF-8",
    );
  });

  it("are not read on when one has no end", async () => {
    const path = await written(`[{"a": 1}, {"b": "${"x".repeat(1 << 20)}`);
    const read = async (): Promise<void> => {
      for await (const { index } of arrayElements(path, undefined, 1 << 18)) expect(index).toBe(0);
    };
    await expect(read()).rejects.toMatchObject({
      offset: 11,
      message: "the dialogue that begins here does not end within 262144 bytes",
    });
  });

  it("of a large file take the memory of one", async () => {
    // 96 MB with 96 elements of audio, as inline base64 has it.
    const path = await written("");
    const file = await open(path, "w");
    for (let index = 0; index < 96; index++)
      await file.write(`${index === 0 ? "[" : ","}{"user_speech_base64": "${"QUJD".repeat(250_000)}"}`);
    await file.write("]");
    await file.close();
    let most = 0;
    const before = memoryUsage();
    for await (const element of arrayElements(path)) {
      expect(element.bytes.length).toBe(1_000_026);
      most = Math.max(most, memoryUsage().rss - before.rss);
    }
    expect(most).toBeLessThan(64_000_000);
  });

  it.each(["[]", " [ ] ", '[1, "a", null, {"b": []}]', "[[1,2],[3]]"])("of %s", async (text) => {
    expect(await elements(await written(text))).toEqual(JSON.parse(text));
  });

  it.each([
    ['[\n {"a": 1},\n {"a": 1, "a": 2}\n]', 'file.json:3:11: the key "a" stands twice in one object'],
    ['[\n {"a": NaN}]', 'file.json:2:8: "NaN}" is not JSON'],
    ['{"a": 1}', "file.json:1:1: expected a JSON array of dialogues"],
    ["", "file.json:1:1: the file ends inside its array: it is cut off"],
    ['[{"a": 1},]', "file.json:1:11: a comma too many in the array"],
    ['[{"a": 1},,{}]', "file.json:1:11: a comma too many in the array"],
    ['[{"a": 1}', "file.json:1:10: the file ends inside its array: it is cut off"],
    ['[{"a": 1},\n{"b"', "file.json:2:5: the file ends inside its array: it is cut off"],
    ['[\n{"a": "no end}]\n', "file.json:2:7: the string that begins here has no end"],
    ['[{"a": [1}, {"b": 2}]', 'file.json:1:10: expected "," but found "}"'],
    ['[{"a": 1} {"b": 2}]', "file.json:1:11: text after the end of the value"],
    ["[1] [2]", "file.json:1:5: text after the end of the array"],
    ['\ufeff\ufeff[{"a": 1}]', "file.json:1:4: expected a JSON array of dialogues"],
  ])("say where %s is broken", async (text, expected) => {
    expect(await messageOf(text)).toBe(expected);
  });
});

describe("lines of a file", () => {
  const linesOf = async (text: string, options: LineOptions = {}): Promise<[number, string][]> => {
    const folder = await mkdtemp(join(tmpdir(), "understudy-lines-"));
    onTestFinished(() => removeFolder(folder));
    const path = join(folder, "file.jsonl");
    await writeFile(path, text);
    const found: [number, string][] = [];
    for await (const { index, start, end, bytes: line } of fileLines(path, options)) {
      expect(Buffer.from(text).subarray(start, end).equals(line)).toBe(true);
      found.push([index, Buffer.from(line).toString()]);
    }
    return found;
  };

  it("skip blank ones, a byte order mark and a missing last line end", async () => {
    expect(await linesOf("\ufeff胡\r\n\n \t\r\nb\n{c")).toEqual([
      [0, "胡\r"],
      [3, "b"],
      [4, "{c"],
    ]);
    expect(await linesOf("")).toEqual([]);
  });

  it.each(["fffe6100", "feff0061"])("are none in UTF-16 (%s)", async (hex) => {
    const folder = await mkdtemp(join(tmpdir(), "understudy-lines-"));
    onTestFinished(() => removeFolder(folder));
    const path = join(folder, "file.jsonl");
    await writeFile(path, Buffer.from(hex, "hex"));
    const read = async (): Promise<void> => {
      for await (const { bytes: line } of fileLines(path)) expect(line).toBeUndefined();
    };
    await expect(read()).rejects.toMatchObject({
      message: "the file is UTF-16: save it as UTF-8",
      offset: 0,
    });
  });

  it("are read once, whatever the ranges that divide the file", async () => {
    const text = Array.from({ length: 40 }, (_, index) => "x".repeat(index % 7)).join("\n");
    const whole = await linesOf(text);
    for (const size of [1, 2, 3, 5, 8, 50, 1_000]) {
      const parts: [number, string][] = [];
      for (let from = 0; from < text.length; from += size)
        parts.push(...(await linesOf(text, { range: { from, to: from + size } })));
      expect(parts).toEqual(whole);
    }
  });

  it("are counted on from a line whose number is known, and from the start when it stands behind", async () => {
    const text = "a\nb\n\nc\nd\n";
    const marks: LineMark[] = [];
    const onMark = (mark: LineMark): unknown => marks.push(mark);
    expect(await linesOf(text, { range: { from: 3, to: 6 }, onMark })).toEqual([[3, "c"]]);
    expect(marks).toEqual([
      { index: 2, start: 4 },
      { index: 4, start: 7 },
    ]);
    // A wrong number shows that nothing before it is counted.
    const mark = { index: 104, start: 7 };
    expect(await linesOf(text, { range: { from: 7, to: 9 }, mark })).toEqual([[104, "d"]]);
    expect(await linesOf(text, { range: { from: 8, to: 99 }, mark })).toEqual([]);
    expect(await linesOf(text, { range: { from: 2, to: 4 }, mark })).toEqual([[1, "b"]]);
  });

  it("are not read on when one has no end", async () => {
    await expect(linesOf(`a\n${"x".repeat(1 << 20)}`, { longest: 1 << 18 })).rejects.toMatchObject({
      offset: 2,
      message: "the line that begins here is longer than 262144 bytes",
    });
  });
});
