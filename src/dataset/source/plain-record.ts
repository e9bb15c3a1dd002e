import { z } from "zod";
import { valueIn } from "../../core/issues.ts";
import { REFERENCE_BACKENDS, DialogueKind, type ReferenceBackend, type RoleEntry } from "../schema.ts";
import { nfc } from "../text.ts";
import { draftOf, type PlainTurn, type Problem } from "./draft.ts";
import { isDataUrl } from "./data-url.ts";
import { labelOf } from "./label.ts";
import { shapeProblem } from "./shape-problem.ts";
import type { ClipSource, Found, Unusable } from "./source.ts";

const optional = z.string().nullish();
// A path or a data URL; in tables also the bytes, or the pair of both that Python's `datasets` stores.
const Audio = z
  .union([
    z.string(),
    z.instanceof(Uint8Array),
    z.looseObject({ bytes: z.instanceof(Uint8Array).nullish(), path: optional }),
  ])
  .nullish();
type Audio = z.infer<typeof Audio>;

const Turn = z.looseObject({
  user_text: z.string(),
  role_text: z.string(),
  user_audio: Audio,
  role_audio: Audio,
  role_audio_cosyvoice2: Audio,
  role_audio_f5_tts: Audio,
  role_audio_e2_tts: Audio,
});
const NamedRecord = z.looseObject({ role_id: z.string().min(1) });
const DialogueRecord = z.looseObject({
  role_id: z.string(),
  kind: DialogueKind.nullish(),
  split: optional,
  category: optional,
  context: optional,
  system_prompt: optional,
  turns: z.array(Turn).min(1),
});

/** What the reading of a record needs to know beside it. */
export interface RecordContext {
  /** Backend of an answer that does not say which spoke it. */
  readonly trainReference: ReferenceBackend;
  /** Pool of a record that does not say. */
  readonly pool: Found["pool"];
  /** Undefined for a role that is not in the manifest. */
  readonly roleOf: (
    roleId: string,
  ) => { readonly role: RoleEntry; readonly profile: string | null } | undefined;
}

/** Names of splits, and the pool that each comes from: dev and ood are chosen anew by the spec. */
const POOLS: ReadonlyMap<string, Found["pool"]> = new Map([
  ["train", "train"],
  ["dev", "train"],
  ["validation", "train"],
  ["ood", "train"],
  ["test", "test"],
] as const);

export const poolOf = (split: string): Found["pool"] | undefined => POOLS.get(split);

/** Whose dialogue it is cannot be told: the record is broken, or names no role. */
export const NOBODY: RoleEntry = {
  stem: "(unknown)",
  slug: "unknown",
  displayName: "(unknown)",
  language: "en",
  source: "",
  heldOut: false,
};

/** A record and whose it is; `unknown` when the manifest has no such role, which no drop could be counted under. */
export type ReadRecord = Omit<Found, "place"> | { readonly unknown: string };

/**
 * A dialogue in the form of a row of our shards: `{role_id, kind, split, category, context, system_prompt, turns:
 * [{user_text, user_audio, role_text, role_audio, …}]}`, from a line of JSON or a row of a table.
 */
export const readRecord = (raw: unknown, context: RecordContext): ReadRecord => {
  const named = NamedRecord.safeParse(raw);
  if (!named.success) {
    const shape = recordProblem(named.error, raw);
    return { role: NOBODY, kind: "single", pool: context.pool, content: unusable(shape, raw) };
  }
  const roleId = named.data.role_id;
  const known = context.roleOf(nfc(roleId));
  if (!known) return { unknown: roleId };
  const parsed = DialogueRecord.safeParse(raw);
  if (!parsed.success) {
    const shape = recordProblem(parsed.error, raw);
    return { role: known.role, kind: "single", pool: context.pool, content: unusable(shape, raw) };
  }
  const record = parsed.data;
  const kind = record.kind ?? (record.turns.length === 1 ? "single" : "multi");
  const pool = record.split === null || record.split === undefined ? context.pool : poolOf(record.split);
  const content =
    pool === undefined
      ? { reason: "shape", turn: null, detail: `split: there is no split "${record.split}"` }
      : draftOf(
          {
            kind,
            category: record.category,
            context: record.context,
            systemPrompt: record.system_prompt,
            turns: record.turns.map((turn) => plainTurn(turn, context.trainReference)),
          },
          known.profile,
        );
  return {
    role: known.role,
    kind,
    pool: pool ?? context.pool,
    content:
      "reason" in content
        ? unusable(content, raw)
        : { outcome: "dialogue", label: labelOf(raw), draft: content },
  };
};

const unusable = (problem: Problem, raw: unknown): Unusable => ({
  outcome: "unusable",
  label: labelOf(raw),
  ...problem,
});

/** Why a record is none. */
export const recordProblem = (error: z.ZodError, raw: unknown): Problem =>
  roleProblem(raw) ?? shapeProblem(error, raw, "turns");

// A record that names its role in no way, or under the name that the field has elsewhere.
function roleProblem(raw: unknown): Problem | undefined {
  if (typeof raw !== "object" || raw === null) return undefined;
  const roleId = valueIn(raw, ["role_id"]);
  if (roleId !== undefined && roleId !== null && roleId !== "") return undefined;
  const role = valueIn(raw, ["role"]);
  const meant = typeof role === "string" && role !== "" ? "; did you mean role_id instead of role?" : "";
  return { reason: "shape", turn: null, detail: `no role_id${meant}` };
}

function plainTurn(turn: z.infer<typeof Turn>, trainReference: ReferenceBackend): PlainTurn {
  const role: Record<ReferenceBackend, ClipSource | null> = {
    cosyvoice2: clipOf(turn.role_audio_cosyvoice2),
    f5_tts: clipOf(turn.role_audio_f5_tts),
    e2_tts: clipOf(turn.role_audio_e2_tts),
  };
  if (REFERENCE_BACKENDS.every((backend) => role[backend] === null))
    role[trainReference] = clipOf(turn.role_audio);
  return { userText: turn.user_text, roleText: turn.role_text, user: clipOf(turn.user_audio), role };
}

// No system has longer ones: such a text is base64 that does not say so.
const LONGEST_PATH = 4_096;

function clipOf(audio: Audio): ClipSource | null {
  if (audio === null || audio === undefined || audio === "") return null;
  if (typeof audio === "string")
    return isDataUrl(audio) || audio.length > LONGEST_PATH
      ? { kind: "inline", data: audio }
      : { kind: "file", path: audio };
  if (audio instanceof Uint8Array) return { kind: "bytes", bytes: audio };
  if (audio.bytes) return { kind: "bytes", bytes: audio.bytes };
  return audio.path ? { kind: "file", path: audio.path } : null;
}
