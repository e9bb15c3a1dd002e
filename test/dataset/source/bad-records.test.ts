import { describe, expect, it } from "vitest";
import { draftOf, jsonl, openGiven, projectOf, readAll, turn } from "./support.ts";

const SOURCE = { format: "manifest" };

describe("a record of a manifest", () => {
  it.each([
    [
      '{"role_id": "thor", "role_id": "x"}',
      "json_invalid",
      null,
      'byte 20 of the dialogue "{\\"role_id\\": \\"thor\\", \\"role_id\\": \\"x\\"}": the key "role_id" stands twice in one object',
    ],
    [
      '{"role_id": "thor", "turns": [NaN]}',
      "json_invalid",
      null,
      'byte 30 of the dialogue "{\\"role_id\\": \\"thor\\", \\"turns\\": [NaN]}": "NaN]}" is not JSON',
    ],
    [{ turns: [turn("a")] }, "shape", null, "no role_id"],
    [{ role_id: "", turns: [turn("a")] }, "shape", null, "no role_id"],
    [{ role_id: 7, turns: [turn("a")] }, "shape", null, "role_id: expected string, not 7"],
    [
      { role: "thor", turns: [turn("a")] },
      "shape",
      null,
      "no role_id; did you mean role_id instead of role?",
    ],
    ["7", "shape", null, "it is not an object with the fields of a dialogue"],
    [
      { role_id: "thor", turns: [{ ...turn("a"), role_text: undefined }] },
      "shape",
      0,
      "turns[0].role_text is missing",
    ],
    [
      { role_id: "thor", turns: [turn("a", { user_audio: 5 })] },
      "shape",
      0,
      "turns[0].user_audio: expected a path, bytes, or both as {bytes, path}",
    ],
    [{ role_id: "thor" }, "shape", null, "turns is missing"],
    [{ role_id: "thor", turns: [] }, "shape", null, "turns is empty"],
    [
      { role_id: "thor", turns: [turn("a"), { ...turn("b"), user_text: 1 }] },
      "shape",
      1,
      "turns[1].user_text: expected string, not 1",
    ],
    [
      { role_id: "thor", turns: [turn("a", { user_audio: null })] },
      "user_audio_missing",
      0,
      'no audio for the question "a"',
    ],
    [{ role_id: "thor", turns: [turn("a", { role_text: " " })] }, "text_empty", 0, "the role text is empty"],
    [{ role_id: "thor", turns: [turn("a\0")] }, "text_invalid", 0, "the user text holds a NUL character"],
    [
      { role_id: "thor", turns: [turn("a")], context: "\ud800" },
      "text_invalid",
      null,
      "context holds half of a surrogate pair",
    ],
    [
      { role_id: "thor", kind: "multi", turns: [turn("a")] },
      "turn_count",
      null,
      "a multi dialogue of 1 turns",
    ],
    [
      { role_id: "thor", split: "exam", turns: [turn("a")] },
      "shape",
      null,
      'split: there is no split "exam"',
    ],
  ] as const)("leaves out one bad dialogue: %j", async (bad, reason, turnNumber, detail) => {
    const good = { role_id: "thor", turns: [turn("z")] };
    const project = await projectOf(SOURCE, { "a.jsonl": jsonl(bad, good) });
    const { found } = await readAll(await openGiven(project));
    expect(found.map(draftOf)).toEqual([
      { reason, turn: turnNumber, detail },
      expect.objectContaining({ category: null }),
    ]);
  });

  it("names each dialogue by what stands in the file, wherever it stands there", async () => {
    const long = `What did you ${"just say, ".repeat(9)}Thor?`;
    const records = [
      { dialogue_id: "d7", role_id: "thor", turns: [turn(long)] },
      { id: 12, turns: [turn("Who\nare you?")] },
      { role_id: "thor", turns: [turn("\ud83d\ude00".repeat(50))] },
      { role_id: "thor", turns: [] },
      '{"role_id": "thor", "turns": [NaN]}',
    ];
    const labels = [
      `d7 "${long.slice(0, 40)}…"`,
      '12 "Who\\nare you?"',
      `"${"\ud83d\ude00".repeat(40)}…"`,
      '"{\\"role_id\\":\\"thor\\",\\"turns\\":[]}"',
      '"{\\"role_id\\": \\"thor\\", \\"turns\\": [NaN]}"',
    ];
    const labelled = async (order: readonly unknown[]): Promise<string[]> => {
      const { found } = await readAll(
        await openGiven(await projectOf(SOURCE, { "a.jsonl": jsonl(...order) })),
      );
      return found.map(({ content }) => content.label);
    };
    expect(await labelled(records)).toEqual(labels);
    expect(await labelled(records.toReversed())).toEqual(labels.toReversed());
  });
});
