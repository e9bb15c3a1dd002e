import { describe, expect, it } from "vitest";
import { nearDuplicates, nearTest, NearSettings, type NearWorld } from "../../../src/dataset/near/index.ts";
import { exactKey, nearText, type NearDialogue } from "../../../src/dataset/near/near-text.ts";
import { compass, dialogue, randomFrom } from "./support.ts";

const world = (settings: object = {}, asked: string[] = []): NearWorld => ({
  settings: NearSettings.parse(settings),
  embedders: { en: compass(asked), zh: compass(asked) },
});

const removals = async (dialogues: readonly NearDialogue[], settings: object = {}): Promise<unknown> =>
  (await nearDuplicates({ language: "en", dialogues }, world(settings))).removals;

describe("near-duplicates of a role", () => {
  it("name pivot, cosine and cluster, whatever the order of the input", async () => {
    const dialogues = [dialogue("c", "40 degrees"), dialogue("a", "0 degrees"), dialogue("b", "20 degrees")];
    const cosine = expect.closeTo(Math.cos(Math.PI / 9), 6);
    expect(await removals(dialogues)).toEqual([{ id: "b", pivot: "a", cosine, cluster: "a" }]);
    expect(await removals(dialogues, { rule: "components" })).toEqual([
      { id: "b", pivot: "a", cosine, cluster: "a" },
      { id: "c", pivot: "b", cosine, cluster: "a" },
    ]);
  });

  it.each(["greedy", "components"])("come out the same for any order of the input, by %s", async (rule) => {
    const random = randomFrom(8);
    const dialogues = Array.from({ length: 120 }, (_, index) =>
      dialogue(`id-${index}`, `${Math.round(random() * 1800) / 10} degrees`, index % 3 ? "Why?" : undefined),
    );
    const settings = { rule, thresholds: { en: 0.9995 } };
    const run = async (order: readonly NearDialogue[]): Promise<unknown> =>
      nearDuplicates({ language: "en", dialogues: order }, world(settings));
    const first = await run(dialogues);
    expect(first).toHaveProperty("removals.length", expect.any(Number));
    for (let times = 0; times < 5; times += 1) {
      const order = dialogues
        .map((item): [number, NearDialogue] => [random(), item])
        .toSorted(([a], [b]) => a - b)
        .map(([, item]) => item);
      expect(await run(order)).toEqual(first);
    }
  });

  it("by greedy always name a kept pivot, and nothing kept is near anything kept", async () => {
    const random = randomFrom(9);
    const dialogues = Array.from({ length: 200 }, (_, index) =>
      dialogue(`id-${index}`, `${Math.round(random() * 3600) / 10}${index % 2 ? "!" : ""} degrees`),
    );
    const { removals: gone } = await nearDuplicates({ language: "en", dialogues }, world());
    const ids = new Set(gone.map(({ id }) => id));
    expect(ids.size).toBeGreaterThan(100);
    expect(gone.filter(({ pivot, cluster }) => ids.has(pivot) || pivot !== cluster)).toEqual([]);
    expect(await removals(dialogues.filter(({ id }) => !ids.has(id)))).toEqual([]);
  });

  it("compare single-turn and multi-turn dialogues only when told to", async () => {
    const dialogues = [dialogue("a", "0 degrees", "Go on."), dialogue("b", "1 degrees")];
    expect(await removals(dialogues)).toEqual([]);
    expect(await removals(dialogues, { pools: "together" })).toMatchObject([{ id: "b", pivot: "a" }]);
  });

  it("take the threshold of the role's language", async () => {
    const dialogues = [dialogue("a", "0 degrees"), dialogue("b", "29 degrees")];
    const of = async (language: "en" | "zh"): Promise<number> =>
      (await nearDuplicates({ language, dialogues }, world())).removals.length;
    expect([await of("en"), await of("zh")]).toEqual([0, 1]);
  });

  it("read the first question alone, or the whole dialogue", async () => {
    const two = dialogue("a", "12 degrees", "And then?");
    expect(nearText(two, "first_user")).toBe("12 degrees");
    expect(nearText(two, "dialogue")).toBe("12 degrees\nWell.\nAnd then?\nQuite.");
    const asked: string[] = [];
    await nearDuplicates({ language: "en", dialogues: [two] }, world({ text: "dialogue" }, asked));
    expect(asked).toEqual(["12 degrees\nWell.\nAnd then?\nQuite."]);
  });

  it("tell by the digest that another machine's model gave other vectors", async () => {
    const of = async (text: string): Promise<string> =>
      (await nearDuplicates({ language: "en", dialogues: [dialogue("a", text)] }, world())).vectorsSha256;
    expect(await of("10 degrees")).toBe(await of("10 degrees, said otherwise"));
    expect(await of("10 degrees")).not.toBe(await of("10.001 degrees"));
  });

  it("refuse two dialogues of one id, and are none without dialogues", async () => {
    expect(await removals([])).toEqual([]);
    await expect(removals([dialogue("a", "1"), dialogue("a", "90")])).rejects.toThrow(
      "The id a stands here twice",
    );
  });
});

describe("texts that are equal but for form", () => {
  it.each([
    ["Who are you?", "  who ARE\tyou !"],
    ["Ｗｈｏ are you？", "Who are you?"],
    ["Straße", "STRASSE"],
    ["café", "cafe\u0301"],
    ["ΟΔΟΣ", "οδος"],
    ["你好，世界！", "你好 世界"],
    ["zero\u200bwidth", "zero width"],
  ])("%s = %s", (a, b) => {
    expect(exactKey(a)).toBe(exactKey(b));
  });

  it.each([
    ["no one came", "noone came"],
    ["2 + 2", "2 × 2"],
    ["?!", "..."],
    ["café", "cafe"],
    ["你好", "您好"],
  ])("%s ≠ %s", (a, b) => {
    expect(exactKey(a)).not.toBe(exactKey(b));
  });

  it("are embedded once, and go with the first of them", async () => {
    const asked: string[] = [];
    const dialogues = [
      dialogue("a", "0 degrees"),
      dialogue("b", "20 degrees"),
      dialogue("c", "20  DEGREES!"),
      dialogue("d", "60 degrees"),
      dialogue("e", "60 degrees?"),
    ];
    const run = async (rule: string): Promise<unknown> =>
      nearDuplicates({ language: "en", dialogues }, world({ rule }, asked));
    const cosine = expect.closeTo(Math.cos(Math.PI / 9), 6);
    expect(await run("greedy")).toMatchObject({
      compared: 3,
      removals: [
        { id: "b", pivot: "a", cosine, cluster: "a" },
        { id: "c", pivot: "a", cosine, cluster: "a" },
        { id: "e", pivot: "d", cosine: null, cluster: "d" },
      ],
    });
    expect(asked).toEqual(["0 degrees", "20 degrees", "60 degrees"]);
    expect(await run("components")).toMatchObject({
      removals: [
        { id: "b", pivot: "a", cosine, cluster: "a" },
        { id: "c", pivot: "b", cosine: null, cluster: "a" },
        { id: "e", pivot: "d", cosine: null, cluster: "d" },
      ],
    });
  });
});

describe("training dialogues near a test dialogue", () => {
  it("are named with the nearest one, single-turn and multi-turn alike; equal texts without a cosine", async () => {
    const role = {
      language: "en" as const,
      train: [
        dialogue("t1", "0 degrees"),
        dialogue("t2", "50 degrees", "Go on."),
        dialogue("t3", "50 DEGREES"),
        dialogue("t4", "100 degrees!"),
        dialogue("t5", "300 degrees"),
      ],
      test: [dialogue("x1", "40 degrees"), dialogue("x2", "55 degrees"), dialogue("x3", "100 degrees")],
    };
    const cosine = expect.closeTo(Math.cos(Math.PI / 36), 6);
    const { removals: gone, compared } = await nearTest(role, world());
    expect(gone).toEqual([
      { id: "t2", pivot: "x2", cosine, cluster: "x2" },
      { id: "t3", pivot: "x2", cosine, cluster: "x2" },
      { id: "t4", pivot: "x3", cosine: null, cluster: "x3" },
    ]);
    expect(compared).toBe(7);
    const turned = { ...role, train: role.train.toReversed(), test: role.test.toReversed() };
    expect((await nearTest(turned, world())).removals).toEqual(gone);
  });

  it("are none when there is nothing to compare", async () => {
    const some = [dialogue("a", "0 degrees")];
    expect((await nearTest({ language: "en", train: some, test: [] }, world())).removals).toEqual([]);
    expect((await nearTest({ language: "en", train: [], test: some }, world())).removals).toEqual([]);
  });
});
