import { UserError } from "../core/errors.ts";
import { digestOf } from "../core/hash.ts";
import type { Suite } from "./schema.ts";

/** What a suite needs to know of a role of the dataset lock. */
export interface SuiteRole {
  readonly id: string;
  readonly rows: { readonly test: number };
}

/**
 * Divides the test roles by the training rows of a checkpoint's lineage, never by a label of the data: a role is seen
 * when it was trained on. Both suites are always given; one of them may hold no role. Systems that are compared share the
 * suites of the tuned run, the base model too. UserError `TRAINING_ROLES_UNKNOWN` when no training role is a role of the
 * lock: every role would quietly count as unseen.
 */
export const suitesFor = (
  lockRoles: readonly SuiteRole[],
  trainingRoles: readonly string[],
): readonly Suite[] => {
  const seen = new Set(trainingRoles);
  if (seen.size > 0 && !lockRoles.some(({ id }) => seen.has(id))) {
    throw new UserError(
      "TRAINING_ROLES_UNKNOWN",
      `None of the ${seen.size} training roles (${trainingRoles.slice(0, 3).join(", ")} …) is a role of this dataset lock`,
      {
        hint: "evaluate on the data set that the checkpoint was trained on, or on one with the same role ids",
      },
    );
  }
  const tested = lockRoles
    .filter(({ rows }) => rows.test > 0)
    .map(({ id }) => id)
    .toSorted();
  return [
    { id: "test/seen", roles: tested.filter((id) => seen.has(id)) },
    { id: "test/unseen", roles: tested.filter((id) => !seen.has(id)) },
  ];
};

/** Identity of a suite: its roles and the bytes of the shards that hold their dialogues. */
export const suiteDigest = (suite: Suite, shardDigests: readonly string[]): string =>
  digestOf({ id: suite.id, roles: suite.roles.toSorted(), shards: shardDigests.toSorted() });
