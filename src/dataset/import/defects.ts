import type { DialogueKind } from "../schema.ts";
import { isMislabelled } from "../source/mislabelled.ts";
import { profileName, sameName } from "../source/profile-name.ts";
import type { RoleFacts } from "./role-facts.ts";
import { CHINESE_STEMS } from "./speechrole.ts";

/** Something that is known to be wrong with a corpus, named so that nobody takes it for good. */
export interface Defect {
  /** Stable word. */
  readonly code: string;
  /** Stem; null where it is no role's. */
  readonly role: string | null;
  /** How often; the places listed are the first ones. */
  readonly count: number;
  readonly places: readonly string[];
  readonly detail: string;
}

const MOST_PLACES = 10;

/** Collects defects by code and role. */
export class DefectList {
  readonly #defects = new Map<
    string,
    { defect: Omit<Defect, "count" | "places">; count: number; places: string[] }
  >();

  add(defect: Omit<Defect, "count" | "places">, place?: string): void {
    const key = JSON.stringify([defect.code, defect.role]);
    const known = this.#defects.get(key) ?? { defect, count: 0, places: [] };
    known.count++;
    if (place !== undefined && known.places.length < MOST_PLACES) known.places.push(place);
    this.#defects.set(key, known);
  }

  all(): readonly Defect[] {
    return [...this.#defects.values()].map(({ defect, count, places }) => ({ ...defect, count, places }));
  }
}

// Reference answers that listeners found defective, as they are published: stem, kind and dialogue of the test.
const BAD_REFERENCES: readonly (readonly [
  stem: string,
  kind: DialogueKind,
  dialogue: number | null,
  what: string,
])[] = [
  ["guojing", "single", null, "a word is mispronounced"],
  ["zhongli", "single", 0, "it is cut off in the middle of a sentence"],
  ["liyunlong", "multi", 0, "it has a phrase without meaning"],
  ["hutao", "single", null, "it answers with thanks to something that was no thank-you"],
];

/** Defects of a role's profile, and those of its test answers that are known by ear alone. */
export const roleDefects = (defects: DefectList, facts: RoleFacts, profile: string | null): void => {
  if (profile === null)
    defects.add({ code: "profile_missing", role: facts.stem, detail: "it has no profile" });
  else profileDefects(defects, facts.stem, profile);
  if (!CHINESE_STEMS.has(facts.stem)) return;
  for (const [stem, kind, dialogue, what] of BAD_REFERENCES)
    if (stem === facts.stem && facts.dialogues.test[kind] > 0)
      defects.add(
        {
          code: "defective_reference",
          role: stem,
          detail: `a reference answer of its test is known to be bad: ${what}`,
        },
        `test ${kind} ${dialogue === null ? "(which of both is not told)" : `dialogue ${dialogue}`}`,
      );
};

// Names in different scripts cannot be compared.
const PLAIN = /^[\x20-\x7e]+$/;

function profileDefects(defects: DefectList, stem: string, profile: string): void {
  const said = profileName(profile);
  if (isMislabelled(stem, profile))
    defects.add({
      code: "mislabelled_role",
      role: stem,
      detail: `its profile, prompts and dialogues are those of ${said?.name} from ${said?.source}: it is called so, or left out with source.mislabelled: exclude`,
    });
  else if (said && PLAIN.test(stem) && PLAIN.test(said.name) && !sameName(said.name, stem))
    defects.add({ code: "profile_name_differs", role: stem, detail: `its profile is of ${said.name}` });
}

const TRADITIONAL = /[們這說對時國學見來會還問點後為開關個麼]/u;
const SPEAKER = /(?:^|[\s。.!?！？])[\p{L}][\p{L} .']{0,20}[:：]/gu;

/** Defects of the transcript of a reference clip; it is raw speech recognition upstream. */
export const transcriptDefects = (defects: DefectList, role: string, transcript: string): void => {
  const note = (code: string, detail: string): void => defects.add({ code, role, detail });
  const text = transcript.trim();
  if (text === "") return note("transcript_empty", "the transcript of its reference clip is empty");
  if ((text.match(SPEAKER) ?? []).length > 1 || /\n\s*\S/.test(text))
    note("transcript_two_speakers", "the transcript of its reference clip has more than one speaker");
  if (TRADITIONAL.test(text))
    note("transcript_traditional", "the transcript of its reference clip has traditional characters");
  if (!/[.!?。！？…"”’')）]$/u.test(text))
    note("transcript_half_sentence", "the transcript of its reference clip ends within a sentence");
};
