import { z } from "zod";
import { parseMended, type Repair } from "../json/mend.ts";
import { JsonFault } from "../json/parse.ts";
import { metaText } from "../pack/meta-text.ts";
import { nfc, textFault } from "../text.ts";
import type { DialogueKind } from "../schema.ts";

export interface RawTurns {
  readonly dialogue: readonly { readonly user: string; readonly role: string }[];
  readonly context?: string;
}

/** Changes to the form, beside those of the text. */
export type FormRepair = Repair | "single_object" | "wrapper" | "role_key";

export interface RawDrop {
  /** Position in the file, 0-based. */
  readonly item: number;
  readonly reason: string;
  readonly detail: string;
}

/** What one completion gave. */
export interface RawRead {
  readonly outcome: "read";
  readonly dialogues: readonly (RawTurns & { readonly item: number })[];
  readonly drops: readonly RawDrop[];
  readonly repairs: ReadonlyMap<FormRepair, number>;
}

/** A completion that stays unread: where it breaks and why. The offset counts UTF-16 units here, and bytes in a report. */
export interface RawQuarantine {
  readonly outcome: "quarantined";
  readonly reason: "json_invalid" | "shape" | "empty" | "encoding";
  readonly offset: number;
  readonly detail: string;
}

const ROLE_KEYS = ["role", "assistant", "character", "role_response", "response"];
const WRAPPERS = ["dialogues", "data", "items", "conversations", "result"];
const LooseTurn = z.record(z.string(), z.unknown());
const LooseItem = z.looseObject({ dialogue: z.array(LooseTurn), context: z.string().nullish() });

// The example in the prompt, which models repeat as if it were an answer.
const EXAMPLES = ["Tony Stark", "姜子牙"];

/** Dialogues out of the text of one completion; what cannot be read is said, never an empty list in its place. */
export const readCompletion = (
  text: string,
  { stem, kind }: { readonly stem: string; readonly kind: DialogueKind },
): RawRead | RawQuarantine => {
  const parsed = parse(text);
  if ("outcome" in parsed) return parsed;
  const repairs = new Map<FormRepair, number>(parsed.repairs);
  const items = asList(parsed.value, repairs);
  if (!items)
    return { outcome: "quarantined", reason: "shape", offset: 0, detail: "it holds no list of dialogues" };
  if (items.length === 0)
    return { outcome: "quarantined", reason: "empty", offset: 0, detail: "its list is empty" };
  const dialogues: (RawTurns & { readonly item: number })[] = [];
  const drops: RawDrop[] = [];
  for (const [item, raw] of items.entries()) {
    const read = readItem(raw, { stem, kind, repairs });
    if ("reason" in read) drops.push({ item, ...read });
    else dialogues.push({ item, ...read });
  }
  return { outcome: "read", dialogues, drops, repairs };
};

function parse(text: string): ReturnType<typeof parseMended> | RawQuarantine {
  try {
    return parseMended(text);
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    return { outcome: "quarantined", reason: "json_invalid", offset: error.offset, detail: error.message };
  }
}

function asList(value: unknown, repairs: Map<FormRepair, number>): readonly unknown[] | undefined {
  if (Array.isArray(value)) {
    const [only] = value;
    if (value.length !== 1 || !Array.isArray(only)) return value;
    note(repairs, "wrapper");
    return only;
  }
  const object = LooseTurn.safeParse(value).data;
  if (!object) return undefined;
  if (Array.isArray(object["dialogue"])) {
    note(repairs, "single_object");
    return [object];
  }
  for (const key of WRAPPERS) {
    const inner = object[key];
    if (!Array.isArray(inner)) continue;
    note(repairs, "wrapper");
    return inner;
  }
  return undefined;
}

interface ItemWorld {
  readonly stem: string;
  readonly kind: DialogueKind;
  readonly repairs: Map<FormRepair, number>;
}
type Refused = Omit<RawDrop, "item">;

function readItem(raw: unknown, { stem, kind, repairs }: ItemWorld): RawTurns | Refused {
  const parsed = LooseItem.safeParse(raw);
  if (!parsed.success) return { reason: "shape", detail: "no object with a list `dialogue`" };
  const turns: { user: string; role: string }[] = [];
  for (const [index, turn] of parsed.data.dialogue.entries()) {
    const read = readTurn(turn, repairs);
    if ("reason" in read) return { ...read, detail: `turn ${index + 1}: ${read.detail}` };
    turns.push(read);
  }
  if (kind === "single" ? turns.length !== 1 : turns.length < 2)
    return { reason: "turn_count", detail: `a ${kind} dialogue of ${turns.length} turns` };
  const said = turns.flatMap(({ user, role }) => [user, role]).join("\n");
  const example = EXAMPLES.find((name) => said.includes(name) && name !== stem);
  if (example !== undefined) return { reason: "prompt_example", detail: `it speaks of ${example}` };
  const context = nfc(parsed.data.context ?? "").trim();
  const fault = context === "" ? undefined : textFault(context);
  if (fault !== undefined) return { reason: "text_invalid", detail: `context ${fault}` };
  return { dialogue: turns, ...(context === "" ? {} : { context }) };
}

function readTurn(
  turn: Readonly<Record<string, unknown>>,
  repairs: Map<FormRepair, number>,
): { readonly user: string; readonly role: string } | Refused {
  const key = ROLE_KEYS.find((name) => typeof turn[name] === "string");
  const { user } = turn;
  const role = key === undefined ? undefined : turn[key];
  if (typeof user !== "string" || typeof role !== "string")
    return {
      reason: "turn_incomplete",
      detail: `no text under ${typeof user === "string" ? "role" : "user"}`,
    };
  if (key !== "role") note(repairs, "role_key");
  for (const [who, text] of Object.entries({ user, role })) {
    const fault = textFault(text);
    if (fault !== undefined)
      return {
        reason: fault === "is empty" ? "text_empty" : "text_invalid",
        detail: `the ${who} text ${fault}`,
      };
  }
  const meta = metaText(role);
  return meta ?? { user: nfc(user.trim()), role: nfc(role.trim()) };
}

function note(repairs: Map<FormRepair, number>, repair: FormRepair): void {
  repairs.set(repair, (repairs.get(repair) ?? 0) + 1);
}
