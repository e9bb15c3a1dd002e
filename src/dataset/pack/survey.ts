import type { Drop } from "../schema.ts";
import { compare } from "../text.ts";
import type { Crew } from "./crew.ts";
import type { Entry, SurveyedDrop, UnitSurvey } from "./entry.ts";
import type { Watch } from "./hand.ts";
import type { Share } from "./share.ts";
import type { PackWatch } from "./watcher.ts";
import type { SurveyParts } from "./survey-parts.ts";

export interface Survey {
  readonly entries: readonly Entry[];
  readonly drops: readonly SurveyedDrop[];
}

export interface SurveyWorld {
  readonly crew: Crew;
  readonly parts: SurveyParts;
  readonly share: Share;
  readonly watch: Watch & Partial<Pick<PackWatch, "onUnits">>;
}

/**
 * First pass: every dialogue is read, its audio decoded and hashed, and then forgotten but for an Entry. Units that were
 * surveyed before, here or by another machine with the same packed folder, are not read again. `missing` counts the
 * units of other shares that nobody has surveyed yet; the survey is whole when it is 0.
 */
export const surveyUnits = async (
  units: readonly string[],
  { crew, parts, share, watch }: SurveyWorld,
): Promise<{ readonly survey: Survey; readonly missing: number }> => {
  const known = new Map<string, UnitSurvey>();
  const open: string[] = [];
  for (const [index, unit] of units.entries()) {
    const part = await parts.read(unit);
    if (part) known.set(unit, part);
    else if (share.includes(index)) open.push(unit);
  }
  watch.onUnits?.(known.size, units.length);
  for (const part of known.values()) watch.onDialogues(part.entries.length + part.drops.length);
  // A thread goes on while the disk takes what it has found.
  const writes: Promise<void>[] = [];
  try {
    await crew.each(open, async (unit, hand) => {
      const part = await hand.survey(unit, watch);
      known.set(unit, part);
      watch.onUnits?.(known.size, units.length);
      const write = parts.write(unit, part);
      write.catch(() => undefined);
      writes.push(write);
    });
  } finally {
    await Promise.allSettled(writes);
  }
  await Promise.all(writes);
  return { survey: joined([...known.values()]), missing: units.length - known.size };
};

function joined(parts: readonly UnitSurvey[]): Survey {
  const unique = withoutRepetitions(parts.flatMap(({ entries }) => entries));
  return {
    entries: unique.entries.toSorted((a, b) => compare(a.id, b.id)),
    drops: [...parts.flatMap(({ drops }) => drops), ...unique.drops].toSorted(byPlace),
  };
}

// Of training dialogues with the same text the one with the smallest content digest stays, wherever it stands in the
// source. Test sessions are never left out for this: a repetition among them is a violated gate.
function withoutRepetitions(entries: readonly Entry[]): Survey {
  const kept = new Map<string, Entry>();
  const drops: SurveyedDrop[] = [];
  const pool = entries
    .filter((entry) => entry.pool === "train")
    .toSorted((a, b) => compare(keyOf(a), keyOf(b)));
  for (const entry of pool) {
    if (!kept.has(entry.id)) kept.set(entry.id, entry);
    else drops.push(dropOf(entry, "duplicate", "another dialogue of this role has the same text"));
  }
  return { entries: [...kept.values(), ...entries.filter((entry) => entry.pool === "test")], drops };
}

const keyOf = ({ contentSha256, place, label }: Entry): string =>
  [contentSha256, place.file, label].join("\u0000");

/** A dialogue that is left out as a whole. */
export const dropOf = (entry: Entry, reason: string, detail: string): SurveyedDrop => ({
  reason,
  role: entry.stem,
  dialogue: `${entry.place.file}: ${entry.label}`,
  turn: null,
  detail,
  pool: entry.pool,
});

/** True for a dialogue that is left out for another one, and not for what is wrong with itself. */
export const isRepetition = ({ reason }: Pick<Drop, "reason">): boolean =>
  ["duplicate", "near_duplicate", "near_test"].includes(reason);

/** The order of drops in a lock. */
export const byPlace = (a: Drop, b: Drop): number => compare(dropKey(a), dropKey(b));

const dropKey = (drop: Drop): string =>
  [drop.role, drop.dialogue, drop.turn ?? -1, drop.reason, drop.detail].join("\u0000");
