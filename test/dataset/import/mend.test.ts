import { describe, expect, it } from "vitest";
import { parseMended } from "../../../src/dataset/json/mend.ts";

const GOOD = '[{"dialogue": [{"user": "Who?", "role": "I."}], "context": "scene"}]';
const value: unknown = JSON.parse(GOOD);

describe("text that a model wrote as JSON", () => {
  it("is taken as it is when it is JSON", () => {
    expect(parseMended(`\ufeff${GOOD}`)).toEqual({ value, repairs: new Map() });
  });

  it.each([
    ["```json\n" + GOOD + "\n```", { code_fence: 1 }],
    [`Here are the dialogues:\n${GOOD}\nI hope this helps!`, { prose: 1 }],
    ["Sure!\n```\n" + GOOD + "\n```\nMore?", { code_fence: 1, prose: 1 }],
    ['[{"dialogue": [{"user": "Who?", "role": "I."}] "context": "scene"}]', { missing_comma: 1 }],
    ['[{"dialogue": [{"user": "Who?" "role": "I."}], "context": "scene"}]', { missing_comma: 1 }],
    ['[{"dialogue": [{"user": "Who?", "role": "I.",},], "context": "scene",},]', { trailing_comma: 4 }],
    [
      '[{"dialogue": [{"user": "Who?", "role": "I."}, ...], "context": "scene"}, ...]',
      { ellipsis: 2, trailing_comma: 2 },
    ],
    [
      '[{"dialogue": [{"user": "Who?", "role": "I."}, …], "context": "scene"}]',
      { ellipsis: 1, trailing_comma: 1 },
    ],
    ['[｛“dialogue”：[{"user"："Who?"，"role"： "I."}]， "context": “scene”}]', { fullwidth_punctuation: 8 }],
  ] as const)("is mended: %s", (text, repairs) => {
    const mended = parseMended(text);
    expect(mended.value).toEqual(value);
    expect(Object.fromEntries(mended.repairs)).toEqual(repairs);
  });

  it.each([
    [
      '[{"user": "a", "role": "He said "hello there" to me."}]',
      { user: "a", role: 'He said "hello there" to me.' },
      { unescaped_quote: 2 },
    ],
    [
      '[{"user": "a", "role": "Call me "Ishmael", sir."}]',
      { user: "a", role: 'Call me "Ishmael", sir.' },
      { unescaped_quote: 2 },
    ],
    [
      '[{"user": "a", "role": "one\ntwo\tthree"}]',
      { user: "a", role: "one\ntwo\tthree" },
      { raw_control_character: 2 },
    ],
    [
      '[{"user": "a", "role": "Wait... what, [no] {really}: yes"},]',
      { user: "a", role: "Wait... what, [no] {really}: yes" },
      { trailing_comma: 1 },
    ],
    [
      '[{"user": "say \\"hi\\"", "role": "“你好”，他说：走。"},]',
      { user: 'say "hi"', role: "“你好”，他说：走。" },
      { trailing_comma: 1 },
    ],
  ] as const)("keeps what stands in strings: %s", (text, item, repairs) => {
    const mended = parseMended(text);
    expect(mended.value).toEqual([item]);
    expect(Object.fromEntries(mended.repairs)).toEqual(repairs);
  });

  it.each([
    ['[{"dialogue": [{"user": "Who?", "role": "I."}], "context": "scene"}, {"dialogue": [{"user": "cut'],
    ['[{"dialogue": [{"user": "Who?", "role": "I."}], "context": "scene"},'],
    ['[{"dialogue": [{"user": "Who?", "role": "I."}'],
    ["I cannot help with that."],
    [""],
    ['[{"user": "a", "user": "b"}]'],
    ['[{"user": NaN}]'],
    [`[${'{"a": 1} '.repeat(300)}]`],
  ])("stays broken where more than form is wrong: %s", (text) => {
    expect(() => parseMended(text)).toThrow(expect.objectContaining({ name: "JsonFault" }));
  });
});
