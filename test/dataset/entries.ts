import type { Entry } from "../../src/dataset/pack/entry.ts";

/** An entry that shares nothing with another, for pure tests of divisions and counts. */
export const entryOf = (id: string, fields: Partial<Entry> = {}): Entry => ({
  id,
  roleId: "thor",
  stem: "Thor",
  language: "en",
  kind: "single",
  pool: "train",
  place: { file: "train/single/Thor.json", index: 0, start: 0, end: 1 },
  label: `"question of ${id}"`,
  contentSha256: "0".repeat(64),
  fingerprint: "0".repeat(24),
  samples: 48_000,
  userSamples: 16_000,
  bytes: 96_000,
  turns: 1,
  seconds: { user: [1], role: [2] },
  spoken: [[0, 0, 20, 2_000]],
  category: null,
  characters: { prompt: 38, answers: 76 },
  pairs: [`pair of ${id}`],
  questions: [`question of ${id}`],
  roleAudio: [`audio of ${id}`],
  copiedAnswers: 0,
  clippedClips: 0,
  quietClips: 0,
  resampledClips: 0,
  promptFromProfile: false,
  hasPrompt: true,
  nearText: null,
  ...fields,
});

/** `count` single and `count` multi training dialogues of a role. */
export const roleEntries = (slug: string, count: number, fields: Partial<Entry> = {}): readonly Entry[] =>
  (["single", "multi"] as const).flatMap((kind) =>
    Array.from({ length: count }, (_, index) =>
      entryOf(`${slug}-${kind}-${index}`, { roleId: slug, stem: slug, kind, ...fields }),
    ),
  );

/** The same members in another order. */
export const shuffled = <Member>(members: readonly Member[]): readonly Member[] =>
  members
    .map((member, index) => ({ member, at: (index * 7919 + 13) % (members.length + 1) }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ member }) => member);
