import { describe, expect, it } from "vitest";
import { DefectList } from "../../../src/dataset/import/defects.ts";
import { noteLanguage, noteTurn } from "../../../src/dataset/import/record-defects.ts";
import { RoleTable, type RoleFacts } from "../../../src/dataset/import/role-facts.ts";

const facts = (letters: { readonly han: number; readonly latin: number }): RoleFacts =>
  Object.assign(new RoleTable().of("Thor"), letters);

describe("what an import says of the turns of a manifest", () => {
  it("names a misspelt answer, and that it is missing", () => {
    const defects = new DefectList();
    const turn = { user_text: "q", user_audio: "q.wav", role_text: "a" };
    noteTurn({ ...turn, answer_audio: "a.wav" }, { stem: "Thor", place: "a.jsonl:3", defects });
    noteTurn({ ...turn, role_audio_f5_tts: "a.wav" }, { stem: "Thor", place: "a.jsonl:4", defects });
    noteTurn({ ...turn, role_audio: "" }, { stem: "Thor", place: "a.jsonl:5", defects });
    expect(defects.all()).toEqual([
      {
        code: "unread_field",
        role: null,
        detail: "fields of a turn that a pack does not read",
        count: 1,
        places: ["a.jsonl:3: answer_audio"],
      },
      {
        code: "role_audio_missing",
        role: "Thor",
        detail: expect.stringContaining("unless checks.answerAudio is keep"),
        count: 2,
        places: ["a.jsonl:3", "a.jsonl:5"],
      },
    ]);
  });

  it.each([
    [{ han: 400, latin: 1_000 }, "44 % of its answers is Chinese"],
    [{ han: 20, latin: 4_000 }, undefined],
    [{ han: 4_000, latin: 300 }, undefined],
  ])("asks about a language that was guessed from %o", (letters, said) => {
    const defects = new DefectList();
    noteLanguage(facts(letters), defects);
    expect(defects.all().map(({ detail }) => detail.slice(0, 30))).toEqual(said === undefined ? [] : [said]);
    const told = new DefectList();
    noteLanguage({ ...facts(letters), language: "en" }, told);
    expect(told.all()).toEqual([]);
  });
});
