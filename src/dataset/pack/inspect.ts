import { CLIP_RATE, type ReadyClip } from "../../audio/index.ts";
import { UserError } from "../../core/errors.ts";
import { REFERENCE_BACKENDS, type DatasetSpec, type Drop } from "../schema.ts";
import type { Draft, Found, Usable } from "../source/source.ts";
import { normalised, pairHash, questionHash, quote } from "../text.ts";
import {
  assemble,
  badClip,
  clipsOf,
  contentSha256,
  dialogueId,
  fingerprint,
  type Assembled,
  type Assembler,
  type BadClip,
  type TurnClips,
} from "./assemble.ts";
import { checkAnswers, type CheckFault, type SpokenAnswer } from "./checks.ts";
import { shortDigest, type Entry, type SurveyedDrop } from "./entry.ts";
import { spokenOf } from "./pace.ts";

// A row is read as a whole, by training and by the viewer of the Hub; an hour of speech is no dialogue.
const LARGEST_ROW = 100_000_000;

/**
 * Reads a dialogue with its audio and keeps an Entry of it, or says why it is left out. UserError `CLIP_BAD` where the
 * spec wants to stop at a bad clip.
 */
export const inspect = async (
  found: Found,
  assembler: Assembler,
  spec: DatasetSpec,
): Promise<Entry | SurveyedDrop> => {
  const { content, role, kind, place, pool } = found;
  const dropped = ({ reason, turn, detail }: Pick<Drop, "reason" | "turn" | "detail">): SurveyedDrop => ({
    reason,
    role: role.stem,
    dialogue: `${place.file}: ${content.label}`,
    turn,
    detail,
    pool,
  });
  if (content.outcome === "unusable") return dropped(content);
  const named = { role, kind, draft: content.draft };
  const result = await assemble(named, assembler);
  const refused = (bad: BadClip): SurveyedDrop => {
    if (spec.audio.onBadClip === "drop") return dropped(bad);
    throw new UserError(
      "CLIP_BAD",
      `${role.stem}, ${place.file} dialogue ${place.index + 1} (${dialogueId(named)}), turn ${bad.turn + 1}: ${bad.detail}`,
      { hint: "repair the clip, or set audio.onBadClip to drop" },
    );
  };
  if (result.outcome === "bad-clip") return refused(result);
  const faint = faintClip(result, content.draft);
  if (faint) return refused(faint);
  const answers = spokenAnswers(result);
  const fault =
    checkAnswers(role.language, answers, spec.checks) ??
    (spec.checks.answerAudio === "drop" ? unspoken(answers) : undefined);
  if (fault) return dropped(fault);
  const script = assembler.source.scripts.get(role.slug) ?? "";
  const spoken = spokenOf(role.language, answers);
  const entry = entryOf(found, content, { assembled: result, spoken, script, spec });
  if (entry.bytes <= LARGEST_ROW) return entry;
  const detail = `it takes ${entry.bytes} bytes in a shard, more than ${LARGEST_ROW}`;
  return dropped({ reason: "too_large", turn: null, detail });
};

function unspoken(answers: readonly SpokenAnswer[]): CheckFault | undefined {
  const turn = answers.findIndex(({ seconds }) => Object.keys(seconds).length === 0);
  const answer = answers[turn];
  return (
    answer && {
      reason: "role_audio_missing",
      turn,
      detail: `no clip speaks the answer ${quote(answer.text)}`,
    }
  );
}

// 33 steps of 32,768: dither or the hiss of an open microphone, and no speech.
const FAINTEST = 0.001;

function faintClip({ clips }: Assembled, { turns }: Draft): BadClip | undefined {
  for (const [turn, sources] of turns.entries()) {
    const read = clips[turn];
    if (!read) continue;
    for (const who of ["user", ...REFERENCE_BACKENDS] as const) {
      const [source, clip] = who === "user" ? [sources.user, read.user] : [sources.role[who], read.role[who]];
      if (!source || !clip || clip.measures.peak >= FAINTEST) continue;
      const level = (20 * Math.log10(clip.measures.peak)).toFixed(0);
      const message = `its loudest sample has ${level} dBFS, which is no speech`;
      return badClip(source, { turn, who }, { reason: "silent", message });
    }
  }
  return undefined;
}

function spokenAnswers({ dialogue, clips }: Assembled): SpokenAnswer[] {
  return dialogue.turns.map((turn, index) => ({
    text: turn.roleText,
    seconds: Object.fromEntries(
      REFERENCE_BACKENDS.flatMap((backend) => {
        const clip = clips[index]?.role[backend];
        return clip ? [[backend, clip.measures.seconds] as const] : [];
      }),
    ),
  }));
}

interface Inspected {
  readonly assembled: Assembled;
  readonly spoken: Entry["spoken"];
  /** Of the role. */
  readonly script: string;
  readonly spec: DatasetSpec;
}

function entryOf(
  { role, kind, pool, place }: Found,
  { draft, label }: Usable,
  { assembled, spoken, script, spec }: Inspected,
): Entry {
  const { dialogue, clips } = assembled;
  const { turns } = dialogue;
  const all = clips.flatMap(clipsOf);
  const roleClips = clips.flatMap(({ role: references }) =>
    REFERENCE_BACKENDS.flatMap((name) => references[name] ?? []),
  );
  const texts = [
    dialogue.systemPrompt,
    dialogue.context,
    ...turns.flatMap((turn) => [turn.userText, turn.roleText]),
  ];
  return {
    id: dialogue.id,
    roleId: dialogue.roleId,
    stem: role.stem,
    language: role.language,
    kind,
    pool,
    place,
    label,
    contentSha256: contentSha256(assembled),
    fingerprint: fingerprint(assembled),
    samples: samplesOf(all),
    userSamples: samplesOf(clips.map(({ user }) => user)),
    bytes:
      all.reduce((sum, clip) => sum + clip.bytes.length, 0) +
      texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ""), 0),
    turns: turns.length,
    seconds: { user: clips.map(({ user }) => secondsOf(user)), role: roleClips.map(secondsOf) },
    spoken,
    category: dialogue.category,
    characters: {
      prompt: (dialogue.systemPrompt ?? "").length,
      answers: turns.reduce((sum, turn) => sum + turn.roleText.length, 0),
    },
    pairs: turns.map((turn) => shortDigest(pairHash(turn.userText, turn.roleText))),
    questions: turns.map((turn) => shortDigest(questionHash(turn.userText))),
    roleAudio: roleClips.map((clip) => shortDigest(clip.pcmSha256)),
    copiedAnswers: copiedAnswers(draft, script),
    clippedClips: all.filter((clip) => clip.measures.clippedShare > 0).length,
    quietClips: all.filter((clip) => clip.measures.silenceShare > MOSTLY).length,
    resampledClips: all.filter(({ source }) => source.rate !== CLIP_RATE || source.channels !== 1).length,
    promptFromProfile: draft.promptFromProfile,
    hasPrompt: dialogue.systemPrompt !== null,
    nearText: nearTextOf(draft, spec),
  };
}

const MOSTLY = 0.8;
const samplesOf = (clips: readonly ReadyClip[]): number => clips.reduce((sum, clip) => sum + clip.samples, 0);
const secondsOf = (clip: TurnClips["user"]): number => Math.floor(clip.measures.seconds);

// Below this a match says nothing: "Yes." stands in every script.
const SHORTEST_COPY = 12;

// The role card quotes a part of the script; the whole of it may lie beside the corpus.
function copiedAnswers({ context, turns }: Draft, script: string): number {
  const quoted = normalised(context ?? "");
  return turns.filter(({ roleText }) => {
    const answer = normalised(roleText);
    return answer.length >= SHORTEST_COPY && (quoted.includes(answer) || script.includes(answer));
  }).length;
}

function nearTextOf({ turns }: Draft, { nearDuplicates }: DatasetSpec): string | null {
  if (!nearDuplicates) return null;
  return nearDuplicates.text === "first_user"
    ? (turns[0]?.userText ?? "")
    : turns.map(({ userText, roleText }) => `${userText}\n${roleText}`).join("\n");
}
