import { UserError } from "../../core/errors.ts";
import type { DatasetSpec, DialogueKind, Drop } from "../schema.ts";
import type { DialogueSource, Found, Place } from "../source/source.ts";
import { compare, pairHash } from "../text.ts";
import { assemble, dialogueId, type Assembled, type Assembler } from "./assemble.ts";

/** What is remembered of a dialogue between the two passes: no text, no audio. */
export interface Entry {
  readonly id: string;
  readonly roleId: string;
  readonly stem: string;
  readonly kind: DialogueKind;
  readonly pool: Found["pool"];
  readonly place: Place;
  readonly contentSha256: string;
  /** Samples of all clips at 16 kHz. */
  readonly samples: number;
  /** Bytes the row takes in a shard, about. */
  readonly bytes: number;
  readonly turns: number;
  /** A hash per question and answer. */
  readonly pairs: readonly string[];
  /** A hash per role clip. */
  readonly roleAudio: readonly string[];
  readonly promptFromProfile: boolean;
  readonly hasPrompt: boolean;
}

export interface Survey {
  readonly entries: readonly Entry[];
  readonly drops: readonly Drop[];
}

export interface SurveyOptions {
  readonly onBadClip: DatasetSpec["audio"]["onBadClip"];
  readonly onDialogue: (done: number) => void;
  readonly signal: AbortSignal | undefined;
}

/**
 * First pass: every dialogue is read, its audio decoded and hashed, and then forgotten but for an Entry. Dialogues that
 * cannot be used are drops, repetitions within the training pool too. UserErrors `SOURCE_JSON_INVALID`, `CLIP_BAD`.
 */
export const survey = async (
  source: DialogueSource,
  assembler: Assembler,
  options: SurveyOptions,
): Promise<Survey> => {
  const entries: Entry[] = [];
  const drops: Drop[] = [];
  let done = 0;
  for await (const found of source.dialogues(options.signal)) {
    options.signal?.throwIfAborted();
    const result = await inspect(found, assembler, options);
    if ("id" in result) entries.push(result);
    else drops.push(result);
    options.onDialogue(++done);
  }
  const unique = withoutRepetitions(entries);
  return {
    entries: unique.entries.toSorted((a, b) => compare(a.id, b.id)),
    drops: [...drops, ...unique.drops].toSorted((a, b) => compare(dropKey(a), dropKey(b))),
  };
};

async function inspect(found: Found, assembler: Assembler, options: SurveyOptions): Promise<Entry | Drop> {
  const { content, role, kind, place } = found;
  if (content.outcome === "unusable") {
    const { reason, turn, detail, label } = content;
    return { reason, role: role.stem, dialogue: `${place.file}: ${label}`, turn, detail };
  }
  const named = { role, kind, draft: content.draft };
  const result = await assemble(named, assembler);
  if (result.outcome === "dialogue") return entryOf(found, result, content.draft.promptFromProfile);
  const id = dialogueId(named);
  if (options.onBadClip === "fail") {
    throw new UserError(
      "CLIP_BAD",
      `${role.stem}, ${place.file} dialogue ${place.index} (${id}), turn ${result.turn}: ${result.detail}`,
      { hint: "repair the clip, or set audio.onBadClip to drop" },
    );
  }
  const { reason, turn, detail } = result;
  return { reason, role: role.stem, dialogue: `${place.file}: ${id}`, turn, detail };
}

function entryOf({ role, pool, place }: Found, assembled: Assembled, promptFromProfile: boolean): Entry {
  const { dialogue, samples, roleAudio } = assembled;
  const texts = [
    dialogue.systemPrompt ?? "",
    dialogue.context ?? "",
    ...dialogue.turns.flatMap((turn) => [turn.userText, turn.roleText]),
  ];
  return {
    id: dialogue.id,
    roleId: dialogue.roleId,
    stem: role.stem,
    kind: dialogue.kind,
    pool,
    place,
    contentSha256: dialogue.contentSha256,
    samples,
    bytes: samples * 2 + texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
    turns: dialogue.turns.length,
    pairs: dialogue.turns.map((turn) => pairHash(turn.userText, turn.roleText)),
    roleAudio,
    promptFromProfile,
    hasPrompt: dialogue.systemPrompt !== null,
  };
}

// Of training dialogues with the same text the one with the smallest content digest stays, wherever it stands in the
// source. Test sessions are never left out for this: a repetition among them is a violated gate.
function withoutRepetitions(entries: readonly Entry[]): Survey {
  const kept = new Map<string, Entry>();
  const drops: Drop[] = [];
  const pool = entries
    .filter((entry) => entry.pool === "train")
    .toSorted((a, b) => compare(a.contentSha256, b.contentSha256) || compare(a.place.file, b.place.file));
  for (const entry of pool) {
    if (!kept.has(entry.id)) kept.set(entry.id, entry);
    else
      drops.push({
        reason: "duplicate",
        role: entry.stem,
        dialogue: `${entry.place.file}: ${entry.id}`,
        turn: null,
        detail: "another dialogue of this role has the same text",
      });
  }
  return { entries: [...kept.values(), ...entries.filter((entry) => entry.pool === "test")], drops };
}

const dropKey = (drop: Drop): string =>
  [drop.role, drop.dialogue, drop.turn ?? -1, drop.reason, drop.detail].join("\u0000");
