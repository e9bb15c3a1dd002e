import { sha256 } from "../../core/hash.ts";
import type { DialogueKind, Language, RoleEntry } from "../schema.ts";
import type { Found } from "../source/source.ts";
import { compare } from "../text.ts";
import { CHINESE_STEMS } from "./speechrole.ts";

/** What an import learns of a role. */
export interface RoleFacts {
  readonly stem: string;
  displayName: string | undefined;
  source: string | undefined;
  /** As the corpus says it; undefined where it does not. */
  language: Language | undefined;
  slug: string | undefined;
  readonly dialogues: Record<Found["pool"], Record<DialogueKind, number>>;
  turns: number;
  /** Letters of the answers. */
  han: number;
  latin: number;
}

/** Roles by stem, made when they are first asked for. */
export class RoleTable {
  readonly #roles = new Map<string, RoleFacts>();

  of(stem: string): RoleFacts {
    const known = this.#roles.get(stem);
    if (known) return known;
    const facts: RoleFacts = {
      stem,
      displayName: undefined,
      source: undefined,
      language: undefined,
      slug: undefined,
      dialogues: { train: { single: 0, multi: 0 }, test: { single: 0, multi: 0 } },
      turns: 0,
      han: 0,
      latin: 0,
    };
    this.#roles.set(stem, facts);
    return facts;
  }

  /** Sorted by stem. */
  all(): readonly RoleFacts[] {
    return [...this.#roles.values()].toSorted((a, b) => compare(a.stem, b.stem));
  }
}

// Enough to tell a language; a corpus has a million answers.
const MOST_LETTERS = 20_000;

/** Counts the letters of an answer. */
export const learnLanguage = (facts: RoleFacts, answer: string): void => {
  if (facts.han + facts.latin > MOST_LETTERS) return;
  facts.han += answer.match(/\p{Script=Han}/gu)?.length ?? 0;
  facts.latin += answer.match(/\p{Script=Latin}/gu)?.length ?? 0;
};

/**
 * The roles as a manifest: language as the corpus says it, else by the list of SpeechRole's Chinese roles, else by the
 * script of the answers; slugs unique. Nothing depends on the order of the roles.
 */
export const roleEntries = (
  roles: readonly RoleFacts[],
  heldOut: ReadonlySet<string>,
): readonly RoleEntry[] => {
  const wished = new Map<string, number>();
  for (const { stem, slug } of roles) {
    const wish = slug ?? slugOf(stem);
    wished.set(wish, (wished.get(wish) ?? 0) + 1);
  }
  return roles.map(({ stem, displayName, language, source, slug, han, latin }) => {
    const wish = slug ?? slugOf(stem);
    const isAlone = wished.get(wish) === 1;
    return {
      stem,
      slug: isAlone ? wish : `${wish}_${shortHash(stem)}`,
      displayName: displayName ?? stem,
      // A word of Latin has five letters, a Chinese one two.
      language: language ?? (CHINESE_STEMS.has(stem) || han * 2 > latin ? "zh" : "en"),
      source: source ?? "",
      heldOut: heldOut.has(stem),
    };
  });
};

// Names in other scripts have no letters here: they are called by a hash of the stem.
function slugOf(stem: string): string {
  const plain = stem.normalize("NFKD").replaceAll(/\p{M}/gu, "").toLowerCase();
  const slug = plain.replaceAll(/[^a-z0-9]+/g, "_").replaceAll(/^_+|_+$/g, "");
  return /[^\p{Script=Latin}\p{N}\p{P}\p{S}\p{Z}]/u.test(plain) || slug === ""
    ? [slug, `role_${shortHash(stem)}`].filter((part) => part !== "").join("_")
    : slug;
}

const shortHash = (stem: string): string => sha256(stem).slice(0, 6);
