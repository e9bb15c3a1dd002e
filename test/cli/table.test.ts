import { describe, expect, it } from "vitest";
import { pairLines, tableLines } from "../../src/cli/table.ts";
import { cutText, textWidth } from "../../src/cli/text-width.ts";

describe("textWidth", () => {
  it.each([
    ["abc", 3],
    ["金葫芦", 6],
    ["雷电 x", 6],
    ["é", 1],
    ["e\u0301", 1],
    ["\u001b[1mbold\u001b[22m", 4],
    ["。，", 4],
    ["ｆｕｌｌ", 8],
  ])("of %s is %i columns", (text, width) => {
    expect(textWidth(text)).toBe(width);
  });

  it("cuts by columns, not by characters", () => {
    expect(cutText("金葫芦", 6)).toBe("金葫芦");
    expect(cutText("金葫芦", 5)).toBe("金葫…");
    expect(cutText("金葫芦", 4)).toBe("金…");
  });
});

describe("tableLines", () => {
  it("aligns wide characters and numbers, and leaves no space at the end", () => {
    const lines = tableLines({
      columns: [{ title: "role" }, { title: "rows", align: "right" }, { title: "note" }],
      rows: [
        ["金葫芦", "8", "seen"],
        ["Skitter", "1,024", ""],
      ],
    });
    expect(lines).toEqual(["role      rows  note", "金葫芦       8  seen", "Skitter  1,024"]);
  });

  it("lets no control character of the data reach the terminal", () => {
    const lines = tableLines({ columns: [{ title: "a" }], rows: [["x\u001b[2Jy\nz"]] });
    expect(lines[1]).toBe("x [2Jy z");
  });

  it("cuts long cells of a column that has a limit", () => {
    expect(tableLines({ columns: [{ title: "a", most: 4 }], rows: [["abcdef"]] })[1]).toBe("abc…");
  });
});

describe("tableLines on a terminal that is too narrow", () => {
  const rows = [["金葫芦", "8", "a reason of several words that is long"]];

  it("wraps a last column that may, while it has room", () => {
    const columns = [{ title: "role" }, { title: "n" }, { title: "why", below: true as const }];
    expect(tableLines({ columns, rows, width: 60 })).toEqual([
      "role    n  why",
      "金葫芦  8  a reason of several words that is long",
    ]);
    expect(tableLines({ columns, rows, width: 34 })).toEqual([
      "role    n  why",
      "金葫芦  8  a reason of several",
      "           words that is long",
    ]);
    expect(tableLines({ columns, rows, width: 24 })).toEqual([
      "role    n",
      "金葫芦  8",
      "    a reason of several",
      "    words that is long",
    ]);
  });

  it("puts several such columns below the row, named, and leaves out empty ones", () => {
    const columns = [
      { title: "role" },
      { title: "reason", below: true as const },
      { title: "next", below: true as const },
    ];
    const lines = tableLines({
      columns,
      rows: [
        ["a", "long enough to fold", "wait"],
        ["b", "", "go"],
      ],
      width: 28,
    });
    expect(lines).toEqual([
      "role",
      "a",
      "    reason: long enough to",
      "    fold",
      "    next: wait",
      "b",
      "    next: go",
    ]);
  });

  it("leaves a table alone whose columns all have to stay", () => {
    expect(tableLines({ columns: [{ title: "a" }], rows: [["wider than that"]], width: 5 })).toEqual([
      "a",
      "wider than that",
    ]);
  });
});

describe("pairLines", () => {
  it("wraps values under themselves, unless that leaves no room", () => {
    const pairs = [["recipe check", "Check a recipe and count its steps"]] as const;
    expect(pairLines(pairs, 40)).toEqual([
      "  recipe check  Check a recipe and count",
      "                its steps",
    ]);
    expect(pairLines(pairs, 30)).toEqual(["  recipe check  Check a recipe and count its steps"]);
  });

  it("aligns names", () => {
    expect(
      pairLines([
        ["步数", "1"],
        ["evaluations", "2"],
      ]),
    ).toEqual(["  步数         1", "  evaluations  2"]);
  });
});
