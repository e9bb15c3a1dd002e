import {
  REFERENCE_BACKENDS,
  SPLITS,
  type Language,
  type ReferenceBackend,
  type Split,
  type Statistics,
} from "../schema.ts";
import type { SourceRole } from "../source/source.ts";
import { compare } from "../text.ts";
import type { Entry } from "./entry.ts";
import type { SplitEntries } from "./split.ts";
import { sumTokens } from "./tokens.ts";

// Clips of this many seconds and more are counted together; a model hears 30 seconds at a time.
const LONGEST = 60;
const MOST_EXAMPLES = 20;

/** What the lock says about a packed corpus beside its counts. Pure. */
export const statisticsOf = (roles: readonly SourceRole[], splits: SplitEntries): Statistics => {
  const all = SPLITS.flatMap((split) => splits[split]);
  const labels = sumTokens(splits.train).labels;
  const language = (name: Language): Statistics["languages"]["en"] => {
    const of = (split: Split): readonly Entry[] => splits[split].filter((entry) => entry.language === name);
    return {
      roles: roles.filter((role) => role.language === name).length,
      rows: perSplit((split) => of(split).length),
      tokens: perSplit((split) => sumTokens(of(split))),
      trainShare: labels === 0 ? 0 : sumTokens(of("train")).labels / labels,
    };
  };
  return {
    languages: { en: language("en"), zh: language("zh") },
    secondsPerClip: {
      user: histogram(all.flatMap((entry) => entry.seconds.user)),
      role: histogram(all.flatMap((entry) => entry.seconds.role)),
    },
    sameQuestion: sameQuestion(splits),
    copiedAnswers: {
      turns: splits.test.reduce((sum, entry) => sum + entry.copiedAnswers, 0),
      of: splits.test.reduce((sum, entry) => sum + entry.turns, 0),
    },
    answerClips: perSplit((split) => answerClips(splits[split])),
    clippedClips: all.reduce((sum, entry) => sum + entry.clippedClips, 0),
    quietClips: all.reduce((sum, entry) => sum + entry.quietClips, 0),
    resampledClips: all.reduce((sum, entry) => sum + entry.resampledClips, 0),
  };
};

/** A value for each split. */
export const perSplit = <Value>(of: (split: Split) => Value): Record<Split, Value> => ({
  train: of("train"),
  dev: of("dev"),
  ood: of("ood"),
  test: of("test"),
});

function answerClips(entries: readonly Entry[]): Record<ReferenceBackend, number> {
  const counts = { cosyvoice2: 0, f5_tts: 0, e2_tts: 0 };
  for (const { spoken } of entries)
    for (const [, voice] of spoken) {
      const backend = REFERENCE_BACKENDS[voice];
      if (backend) counts[backend]++;
    }
  return counts;
}

function histogram(seconds: readonly number[]): number[] {
  const counts: number[] = [];
  for (const value of seconds) {
    const bin = Math.min(LONGEST, Math.floor(value));
    while (counts.length <= bin) counts.push(0);
    counts[bin] = (counts[bin] ?? 0) + 1;
  }
  return counts;
}

// One voice speaks all questions, so that equal questions are equal audio. Reported and not forbidden: everybody is
// asked how their day was.
function sameQuestion({ train, test }: SplitEntries): Statistics["sameQuestion"] {
  const asked = new Map<string, Entry>();
  for (const entry of train)
    for (const question of entry.questions) {
      const other = asked.get(question);
      if (!other || compare(entry.id, other.id) < 0) asked.set(question, entry);
    }
  const pairs = test.flatMap((entry) =>
    entry.questions.flatMap((question, turn) => {
      const other = asked.get(question);
      return other ? [`${entry.id} turn ${turn} (test) and ${other.id} (train)`] : [];
    }),
  );
  return { pairs: pairs.length, examples: pairs.toSorted(compare).slice(0, MOST_EXAMPLES) };
}
