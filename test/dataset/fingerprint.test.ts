import { describe, expect, it } from "vitest";
import { clipPcm, openClipReader } from "../../src/audio/index.ts";
import { digestOf, sha256 } from "../../src/core/hash.ts";
import { assemble, contentSha256, fingerprint, type Assembled } from "../../src/dataset/pack/assemble.ts";
import type { ClipBytes, ClipSource, Draft, DraftTurn } from "../../src/dataset/source/source.ts";
import { toneClip } from "./corpus.ts";

const readClip = await openClipReader();
const role = {
  stem: "Thor",
  slug: "thor",
  displayName: "Thor",
  language: "en",
  source: "",
  heldOut: false,
} as const;
const file = (path: string): ClipSource => ({ kind: "file", path });
const NOBODY = { cosyvoice2: null, f5_tts: null, e2_tts: null };
const turn = (spoken: Partial<DraftTurn["role"]>, user = "1"): DraftTurn => ({
  userText: "a question",
  roleText: "an answer",
  user: file(user),
  role: { ...NOBODY, ...spoken },
});
// Each path is a clip of its own, and its stamp is its name.
const assembled = async (
  turns: readonly DraftTurn[],
  stampOf: (path: string) => string | undefined = (path) => path,
): Promise<Assembled> => {
  const draft: Draft = {
    category: null,
    context: null,
    systemPrompt: null,
    promptFromProfile: false,
    turns,
  };
  const clip = async (source: ClipSource): Promise<ClipBytes> => {
    const path = source.kind === "file" ? source.path : "";
    const stamp = stampOf(path);
    const bytes = toneClip(Number(path));
    return { outcome: "bytes", bytes, ...(stamp === undefined ? {} : { stamp }) };
  };
  const named = { role, kind: "multi" as const, draft };
  const result = await assemble(named, { source: { scripts: new Map<string, string>(), clip }, readClip });
  if (result.outcome === "bad-clip") throw new Error(result.detail);
  return result;
};

const first = [turn({ cosyvoice2: file("2") }), turn({ cosyvoice2: file("3") }, "4")];
const changes: readonly (readonly [string, readonly DraftTurn[]])[] = [
  ["another clip", [turn({ cosyvoice2: file("5") }), turn({ cosyvoice2: file("3") }, "4")]],
  ["the same clip of another back end", [turn({ f5_tts: file("2") }), turn({ cosyvoice2: file("3") }, "4")]],
  ["a clip at the other turn", [turn({ cosyvoice2: file("3") }), turn({ cosyvoice2: file("2") }, "4")]],
  ["one clip more", [turn({ cosyvoice2: file("2"), e2_tts: file("6") }), first[1] ?? turn({})]],
  [
    "question and answer in each other's place",
    [turn({ cosyvoice2: file("1") }, "2"), turn({ cosyvoice2: file("3") }, "4")],
  ],
];

it("is the digest of canonical JSON, which any language can make", async () => {
  const pcm = (number: number): string => sha256(clipPcm(toneClip(number)));
  const spoken = (user: number, cosyvoice2: number, e2: string | null): object => ({
    user_text: "a question",
    role_text: "an answer",
    user_pcm: pcm(user),
    role_pcm: { cosyvoice2: pcm(cosyvoice2), f5_tts: null, e2_tts: e2 },
  });
  const one = await assembled([turn({ cosyvoice2: file("2"), e2_tts: file("6") }), first[1] ?? turn({})]);
  expect(contentSha256(one)).toBe(
    digestOf({
      role_id: "thor",
      kind: "multi",
      category: null,
      system_prompt: null,
      context: null,
      turns: [spoken(1, 2, pcm(6)), spoken(4, 3, null)],
    }),
  );
});

describe("the fingerprint of a dialogue", () => {
  it.each(changes)("changes with %s, as its digest does", async (_, turns) => {
    const [one, other] = [await assembled(first), await assembled(turns)];
    expect(contentSha256(other)).not.toBe(contentSha256(one));
    expect(fingerprint(other)).not.toBe(fingerprint(one));
  });

  it("changes with a stamp, and is there only where every clip has one", async () => {
    const one = await assembled(first);
    expect(fingerprint(await assembled(first))).toBe(fingerprint(one));
    const touched = await assembled(first, (path) => (path === "3" ? "touched" : path));
    expect(fingerprint(touched)).not.toBe(fingerprint(one));
    expect(contentSha256(touched)).toBe(contentSha256(one));
    expect(fingerprint(await assembled(first, (path) => (path === "3" ? undefined : path)))).toBeNull();
  });
});
