import { UserError } from "../../core/errors.ts";
import type { DatasetSpec, Gate, RoleEntry, Split } from "../schema.ts";
import { nfc } from "../text.ts";
import { groupByRole, type SplitEntries } from "./split.ts";
import type { Entry } from "./survey.ts";

/** Everything the gates look at. */
export interface Candidate {
  readonly spec: DatasetSpec;
  readonly roles: readonly RoleEntry[];
  readonly strangers: readonly string[];
  readonly splits: SplitEntries;
}

/** Stems of the held-out roles of a spec, in the form the manifest has. */
export const heldOutStems = (spec: DatasetSpec): ReadonlySet<string> =>
  new Set(spec.splits.heldOutRoles.map(nfc));

const MOST_LISTED = 20;
const TRAINABLE = ["train", "dev", "ood"] as const;

/** All gates, passed or not, in a fixed order. */
export const checkGates = (candidate: Candidate): readonly Gate[] => [
  roleMembership(candidate),
  heldOut(candidate),
  uniqueIds(candidate),
  noLeak(candidate, {
    name: "no_shared_text",
    what: "a question and its answer",
    keys: (entry) => entry.pairs,
  }),
  noLeak(candidate, { name: "no_shared_audio", what: "a role clip", keys: (entry) => entry.roleAudio }),
  expectedCounts(candidate),
  systemPrompts(candidate),
];

/** UserError `GATE_VIOLATED` with every violated gate and what violates it. */
export const requireGates = (gates: readonly Gate[]): void => {
  const violated = gates.filter(({ passed }) => !passed);
  if (violated.length === 0) return;
  const lines = violated.map(({ name, detail }) => `  ${name}: ${detail}`);
  throw new UserError("GATE_VIOLATED", `The data set is not packed, because of:\n${lines.join("\n")}`, {
    hint: "repair the corpus or its spec; a score on data like this would say nothing",
  });
};

function gate(name: string, problems: readonly string[], passed: string): Gate {
  if (problems.length === 0) return { name, passed: true, detail: passed };
  const more = problems.length > MOST_LISTED ? [`and ${problems.length - MOST_LISTED} more`] : [];
  return { name, passed: false, detail: [...problems.slice(0, MOST_LISTED), ...more].join("; ") };
}

function roleMembership({ spec, roles, strangers, splits }: Candidate): Gate {
  const listed = heldOutStems(spec);
  const trained = groupByRole(splits.train);
  const tested = groupByRole(splits.test);
  const problems = [
    ...strangers.map((file) => `${file} belongs to no role of the manifest`),
    ...[...listed]
      .filter((stem) => !roles.some((role) => role.stem === stem))
      .map((stem) => `held-out role "${stem}" is not in the manifest`),
    ...roles
      .filter((role) => !listed.has(role.stem) && !trained.has(role.slug))
      .map((role) => `seen role "${role.stem}" has no training dialogue`),
    ...roles
      .filter((role) => !tested.has(role.slug))
      .map((role) => `role "${role.stem}" has no test session`),
  ];
  return gate("role_membership", problems, `${roles.length} roles, each with test sessions`);
}

function heldOut({ spec, roles, splits }: Candidate): Gate {
  const listed = heldOutStems(spec);
  const slugs = new Map(roles.map((role) => [role.slug, role]));
  const trained = [...splits.train, ...splits.dev].map((entry) => entry.roleId);
  const problems = [
    ...[...new Set(trained)]
      .filter((slug) => listed.has(slugs.get(slug)?.stem ?? ""))
      .map((slug) => `held-out role ${slug} has training rows`),
    ...roles
      .filter((role) => role.heldOut !== listed.has(role.stem))
      .map((role) =>
        role.heldOut
          ? `the manifest holds out "${role.stem}", the spec does not`
          : `the spec holds out "${role.stem}", the manifest does not`,
      ),
  ];
  return gate("held_out_roles", problems, `${listed.size} held-out roles, none in train or dev`);
}

function uniqueIds({ splits }: Candidate): Gate {
  const first = new Map<string, Entry>();
  const problems: string[] = [];
  for (const entry of [...splits.test, ...TRAINABLE.flatMap((split) => splits[split])]) {
    const other = first.get(entry.id);
    if (other) problems.push(`${where(other)} and ${where(entry)} are both ${entry.id}`);
    else first.set(entry.id, entry);
  }
  return gate("unique_ids", problems, `${first.size} ids`);
}

interface Leak {
  readonly name: string;
  readonly what: string;
  readonly keys: (entry: Entry) => readonly string[];
}

function noLeak({ splits }: Candidate, { name, what, keys }: Leak): Gate {
  const tested = new Map(splits.test.flatMap((entry) => keys(entry).map((key) => [key, entry] as const)));
  const problems = TRAINABLE.flatMap((split) =>
    splits[split].flatMap((entry) => {
      const other = keys(entry)
        .map((key) => tested.get(key))
        .find((found) => found !== undefined);
      return other ? [`${where(entry)} (${split}) and ${where(other)} (test) share ${what}`] : [];
    }),
  );
  return gate(name, problems, `${tested.size} of test, none of them in ${TRAINABLE.join(", ")}`);
}

function expectedCounts({ spec, roles, splits }: Candidate): Gate {
  const found = {
    roles: roles.length,
    heldOutRoles: roles.filter((role) => role.heldOut).length,
    testSessions: splits.test.length,
  };
  const expected = spec.expected ?? {};
  const problems = (["roles", "heldOutRoles", "testSessions"] as const).flatMap((name) => {
    const count = expected[name];
    return count === undefined || count === found[name]
      ? []
      : [`expected ${count} ${name}, found ${found[name]}`];
  });
  // Row counts in a spec are for planning before anything is packed; what is packed replaces them.
  const counts = Object.entries(found).map(([name, count]) => `${count} ${name}`);
  return gate(
    "expected_counts",
    [...problems, ...(expected.testSessions === undefined ? [] : unevenSessions(splits))],
    counts.join(", "),
  );
}

// A published test set has as many sessions for each role; a role with fewer lost some.
function unevenSessions(splits: SplitEntries): string[] {
  const groups = groupByRole(splits.test);
  const most = Math.max(0, ...[...groups.values()].map((group) => group.length));
  return [...groups.entries()]
    .filter(([, group]) => group.length !== most)
    .map(([role, group]) => `${role} has ${group.length} test sessions, others ${most}`);
}

// Always passes: it records what was done where the source gave no prompt.
function systemPrompts({ splits }: Candidate): Gate {
  const all: readonly Entry[] = (["train", "dev", "ood", "test"] satisfies Split[]).flatMap(
    (split) => splits[split],
  );
  const built = all.filter((entry) => entry.promptFromProfile).length;
  const without = all.filter((entry) => !entry.hasPrompt).length;
  return gate("system_prompts", [], `${built} built from the role's profile, ${without} missing`);
}

function where(entry: Entry): string {
  return `${entry.place.file} dialogue ${entry.place.index}`;
}
