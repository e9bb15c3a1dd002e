import type { DatasetSpec, Split } from "../schema.ts";
import type { SourceRole } from "../source/source.ts";
import { compare, nfc } from "../text.ts";
import type { Entry, SurveyedDrop } from "./entry.ts";
import { gate, type Judged } from "./gate.ts";
import type { Candidate } from "./gates.ts";
import { inseparable } from "./inseparable.ts";
import { groupByRole, type SplitEntries } from "./split.ts";

/** Every file belongs to a role, every role has test sessions and every seen role training dialogues. */
export const roleMembership = (candidate: Candidate): Judged => {
  const { spec, roles, strangers, heldOut, splits } = candidate;
  const named = spec.splits.by === "spec" ? spec.splits.heldOutRoles.map(nfc) : [];
  const trained = groupByRole(splits.train);
  const tested = groupByRole(splits.test);
  const isSeen = (slug: string): boolean => !heldOut.ood.has(slug) && !heldOut.dev.has(slug);
  const problems = [
    ...strangers.map((file) => `${file} belongs to no role of the manifest`),
    ...named
      .filter((stem) => !roles.some((role) => role.stem === stem))
      .map((stem) => `held-out role "${stem}" is not in the manifest`),
    ...(splits.train.length === 0 ? [`train gets no dialogue at all${whyNoTrain(candidate, isSeen)}`] : []),
    ...roles
      .filter((role) => isSeen(role.slug) && !trained.has(role.slug))
      .map(
        (role) =>
          `seen role "${role.stem}" has no training dialogue: ${whatBecame(candidate, role, "train")}`,
      ),
    ...roles
      .filter((role) => !tested.has(role.slug))
      .map((role) => `role "${role.stem}" has no test session: ${whatBecame(candidate, role, "test")}`),
  ];
  return gate("role_membership", problems, `${roles.length} roles, each with test sessions`);
};

function whyNoTrain({ roles }: Candidate, isSeen: (slug: string) => boolean): string {
  const seen = roles.filter((role) => isSeen(role.slug)).length;
  return seen === 0 ? ": every role is held out, or a role of dev" : "";
}

// Where the dialogues of a role went that should have been trained on, or tested with.
function whatBecame({ spec, splits, drops }: Candidate, role: SourceRole, wanted: "train" | "test"): string {
  const isPublished = splits.test.some(({ pool }) => pool === "test") || drops.some(isOf("test"));
  // Test sessions are drawn from the training dialogues where the source has none of its own.
  const pool = wanted === "test" && isPublished ? "test" : "train";
  const lost = drops.filter((drop) => isOf(pool)(drop) && [role.stem, role.slug].includes(drop.role));
  const went = (["train", "dev", "ood", "test"] as const).flatMap((split) => {
    const count = membersOf(splits, split, role).filter((entry) => entry.pool === pool).length;
    return count === 0 ? [] : [{ split, count }];
  });
  const given = lost.length + went.reduce((sum, { count }) => sum + count, 0);
  if (given === 0) return "none was given";
  const dropped =
    lost.length === 0 ? [] : [`${lost.length} ${were(lost.length)} dropped (${reasonsOf(lost)})`];
  const gone = went.map(({ split, count }) => `${count} went to ${split}`);
  const see = seeAlso(
    spec,
    went.map(({ split }) => split),
    { isDrawn: wanted === "test" && !isPublished },
  );
  return `of ${given} given, ${[...dropped, ...gone].join(", ")}${together(splits, role)}${see}`;
}

// Settings say how many go together only where dialogues can be parted.
function together(splits: SplitEntries, role: SourceRole): string {
  const all = (["train", "dev", "ood", "test"] as const).flatMap((split) => membersOf(splits, split, role));
  const largest = Math.max(0, ...inseparable(all).map(({ length }) => length));
  return largest > 1
    ? `; ${largest} of them share a clip, or a question with its answer, and are never parted`
    : "";
}

const membersOf = (splits: SplitEntries, split: Split, role: SourceRole): readonly Entry[] =>
  splits[split].filter((entry) => entry.roleId === role.slug);

const were = (count: number): string => (count === 1 ? "was" : "were");

const isOf =
  (pool: "train" | "test") =>
  (drop: SurveyedDrop): boolean =>
    (drop.pool ?? "train") === pool;

function reasonsOf(drops: readonly SurveyedDrop[]): string {
  const counts = new Map<string, number>();
  for (const { reason } of drops) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return [...counts.entries()]
    .toSorted(([a], [b]) => compare(a, b))
    .map(([reason, count]) => `${reason} ${count}`)
    .join(", ");
}

// What in the spec sends them there.
function seeAlso(
  { splits }: DatasetSpec,
  went: readonly Split[],
  { isDrawn }: { readonly isDrawn: boolean },
): string {
  const settings = [
    ...(went.includes("dev") && splits.devPerRole > 0 ? ["splits.devPerRole"] : []),
    ...(isDrawn || went.includes("test") ? ["splits.testPerRole"] : []),
  ];
  return settings.length === 0 ? "" : `: see ${settings.join(" and ")}`;
}
