import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ByteFault, jsonError, parseJsonBytes } from "../../src/dataset/json/bytes.ts";
import { arrayElements } from "../../src/dataset/json/elements.ts";
import { parseStrictJson } from "../../src/dataset/json/parse.ts";

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
    ["\ufeff[]", "0: the file starts with a byte order mark: save it as UTF-8 without one"],
  ])("refuses %s", (text, expected) => {
    expect(faultOf(() => parseJsonBytes(bytes(text), 0))).toBe(expected);
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
    onTestFinished(async () => rm(folder, { recursive: true }));
    const path = join(folder, "file.json");
    await writeFile(path, text);
    return path;
  };
  const elements = async (path: string): Promise<unknown[]> => {
    const found: unknown[] = [];
    for await (const element of arrayElements(path)) found.push(parseJsonBytes(element.bytes, element.start));
    return found;
  };
  const messageOf = async (text: string): Promise<string> => {
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
    ["\ufeff[]", "file.json:1:1: the file starts with a byte order mark: save it as UTF-8 without one"],
  ])("say where %s is broken", async (text, expected) => {
    expect(await messageOf(text)).toBe(expected);
  });
});
