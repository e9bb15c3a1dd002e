import { UserError } from "../../core/errors.ts";
import type { DatasetSpec, RoleEntry } from "../schema.ts";
import { nfc } from "../text.ts";
import { allocate, grouped, ranked } from "./allocate.ts";

/** Which roles train never sees, by slug. */
export interface HeldOut {
  /** Their training dialogues go to ood. */
  readonly ood: ReadonlySet<string>;
  /** Their training dialogues go to dev; only folds have such. */
  readonly dev: ReadonlySet<string>;
}

type Role = Pick<RoleEntry, "slug" | "stem" | "language" | "source">;

/**
 * The roles that a spec holds out. `spec`: those it names (a name without a role is a violated gate, not an error
 * here). `seed`: drawn in proportion over language × source. `folds`: every role is held out in exactly one fold, and
 * each language × source is spread evenly over the folds. Nothing depends on the order of the roles. UserError
 * `SPEC_INVALID` for a fold that there is not, and where no role would be left to train on.
 */
export const heldOutRoles = (splits: DatasetSpec["splits"], roles: readonly Role[]): HeldOut => {
  if (splits.by === "spec") {
    const stems = new Set(splits.heldOutRoles.map(nfc));
    return { ood: slugs(roles.filter((role) => stems.has(role.stem))), dev: new Set() };
  }
  if (splits.by === "seed") {
    if (splits.heldOutCount >= roles.length)
      throw invalid(`splits.heldOutCount is ${splits.heldOutCount}, of ${roles.length} roles`);
    return { ood: slugs(draw(roles, splits.heldOutCount, `${splits.seed}|ood`)), dev: new Set() };
  }
  if (splits.fold > splits.folds) throw invalid(`splits.fold is ${splits.fold}, of ${splits.folds} folds`);
  const held = slugs(foldOf(roles, splits));
  const others = roles.filter((role) => !held.has(role.slug));
  // Other dev roles in each fold, so that no role is dev alone and never tested as unseen.
  return { ood: held, dev: slugs(draw(others, splits.devRoles, `${splits.seed}|dev|${splits.fold}`)) };
};

// Languages first, then sources within each: rounding in many small groups at once would shift the languages.
function draw(roles: readonly Role[], count: number, salt: string): readonly Role[] {
  return within(roles, count, (role) => role.language).flatMap(({ members: ofLanguage, part }) =>
    within(ofLanguage, part, (role) => role.source).flatMap(({ members, part: most }) =>
      ranked(members, salt, (role) => role.slug).slice(0, most),
    ),
  );
}

function within(
  roles: readonly Role[],
  count: number,
  groupOf: (role: Role) => string,
): readonly { readonly members: readonly Role[]; readonly part: number }[] {
  const groups = [...grouped(roles, groupOf).values()];
  const parts = allocate(
    groups.map((group) => group.length),
    count,
  );
  return groups.map((members, index) => ({ members, part: parts[index] ?? 0 }));
}

// Dealt like cards, one stratum after the other without starting anew: folds differ by one role at most.
function foldOf(
  roles: readonly Role[],
  { seed, folds, fold }: Extract<DatasetSpec["splits"], { by: "folds" }>,
): readonly Role[] {
  const dealt = [...grouped(roles, (role) => `${role.language}|${role.source}`).values()].flatMap((stratum) =>
    ranked(stratum, `${seed}|folds`, (role) => role.slug),
  );
  return dealt.filter((_, index) => index % folds === fold - 1);
}

const invalid = (message: string): UserError =>
  new UserError("SPEC_INVALID", message, {
    hint: "a part of the roles is held out, the others are trained on",
  });

const slugs = (roles: readonly Role[]): ReadonlySet<string> => new Set(roles.map((role) => role.slug));
