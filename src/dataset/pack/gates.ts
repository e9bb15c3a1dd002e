import { SPLITS, type DatasetSpec } from "../schema.ts";
import type { SourceRole } from "../source/source.ts";
import { compare, plainName } from "../text.ts";
import type { Allowances } from "./allowances.ts";
import { shortDigest, type Entry, type SurveyedDrop } from "./entry.ts";
import { gate, type Judged, type JudgedGate } from "./gate.ts";
import type { HeldOut } from "./held-out.ts";
import { roleMembership } from "./role-membership.ts";
import { groupByRole, type SplitEntries } from "./split.ts";

/** Everything the gates look at. */
export interface Candidate {
  readonly spec: DatasetSpec;
  readonly roles: readonly SourceRole[];
  readonly strangers: readonly string[];
  readonly heldOut: HeldOut;
  readonly splits: SplitEntries;
  /** What was left out before the division. */
  readonly drops: readonly SurveyedDrop[];
  /** How a dialogue is named. Default: by file and id, which do not change with the order of the source. */
  readonly where?: (entry: Entry) => string;
}

const TRAINABLE = ["train", "dev", "ood"] as const;

/** All gates, passed or not, in a fixed order, each with the reason for which it was let pass. */
export const checkGates = (given: Candidate, allowed: Allowances = {}): readonly JudgedGate[] => {
  const candidate = { ...given, roles: given.roles.toSorted((a, b) => compare(a.slug, b.slug)) };
  return [
    roleMembership(candidate),
    heldOutRolesGate(candidate),
    uniqueIds(candidate),
    noLeak(candidate, {
      name: "no_shared_text",
      what: "a question and its answer",
      keys: (entry) => entry.pairs,
    }),
    noLeak(candidate, { name: "no_shared_audio", what: "a role clip", keys: (entry) => entry.roleAudio }),
    referenceClips(candidate),
    expectedCounts(candidate),
    systemPrompts(candidate),
  ].map((judged) => ({ ...judged, allowed: judged.passed ? null : (allowed[judged.name] ?? null) }));
};

function heldOutRolesGate({ spec, roles, heldOut, splits }: Candidate): Judged {
  const trained = new Set([...splits.train, ...splits.dev].map((entry) => entry.roleId));
  const problems = [
    ...[...heldOut.ood]
      .filter((slug) => trained.has(slug))
      .map((slug) => `held-out role ${slug} has training rows`),
    ...twins(roles, heldOut),
    // A spec that draws its roles knows better than a manifest that was written for another division.
    ...(spec.splits.by === "spec" ? disagreements(roles, heldOut) : []),
  ];
  return gate("held_out_roles", problems, `${heldOut.ood.size} held-out roles, none in train or dev`);
}

// One character under two spellings, trained on under one of them, is held out under none.
function twins(roles: readonly SourceRole[], { ood }: HeldOut): readonly string[] {
  const seen = new Map(
    roles.filter(({ slug }) => !ood.has(slug)).map((role) => [plainName(role.stem), role.stem] as const),
  );
  // Names of signs alone have nothing in common.
  seen.delete("");
  return roles
    .filter(({ slug }) => ood.has(slug))
    .flatMap(({ stem }) => {
      const other = seen.get(plainName(stem));
      return other === undefined
        ? []
        : [
            `"${stem}" is held out and "${other}" is not, and their names differ by case, space or signs only`,
          ];
    });
}

function disagreements(roles: readonly SourceRole[], { ood }: HeldOut): readonly string[] {
  return roles
    .filter((role) => role.heldOut !== ood.has(role.slug))
    .map((role) =>
      role.heldOut
        ? `the role manifest holds out "${role.stem}" (heldOut: true), the spec does not (splits.heldOutRoles)`
        : `the spec holds out "${role.stem}" (splits.heldOutRoles), the role manifest does not (heldOut)`,
    );
}

function uniqueIds({ splits, where = byId }: Candidate): Judged {
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

function noLeak({ splits, where = byId }: Candidate, { name, what, keys }: Leak): Judged {
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

// A voice that answers with its own reference clip would be judged against itself.
function referenceClips({ roles, splits, where = byId }: Candidate): Judged {
  const clips = new Map(
    roles.flatMap((role) =>
      role.referencePcmSha256 === null ? [] : [[shortDigest(role.referencePcmSha256), role.stem] as const],
    ),
  );
  const problems = SPLITS.flatMap((split) =>
    splits[split].flatMap((entry) => {
      const owner = entry.roleAudio.map((digest) => clips.get(digest)).find((stem) => stem !== undefined);
      return owner === undefined
        ? []
        : [`an answer of ${where(entry)} (${split}) is the reference clip of "${owner}"`];
    }),
  );
  const unread = roles.filter(
    (role) => role.referenceClipSha256 !== null && role.referencePcmSha256 === null,
  );
  const passed = `${clips.size} reference clips, none of them an answer`;
  if (unread.length === 0) return gate("reference_clips", problems, passed);
  // A clip that cannot be read cannot be compared: that nothing was found means nothing then.
  const names = unread.map(({ stem }) => `"${stem}"`).join(", ");
  return gate("reference_clips", problems, `${passed}; not compared, since they cannot be read: ${names}`);
}

function expectedCounts({ spec, roles, heldOut, splits }: Candidate): Judged {
  const found = {
    roles: roles.length,
    heldOutRoles: heldOut.ood.size,
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
function systemPrompts({ splits }: Candidate): Judged {
  const all = SPLITS.flatMap((split) => splits[split]);
  const built = all.filter((entry) => entry.promptFromProfile).length;
  const without = all.filter((entry) => !entry.hasPrompt).length;
  return gate("system_prompts", [], `${built} built from the role's profile, ${without} missing`);
}

/** Where a dialogue stands, for whoever has to look for it. */
export const byPosition = ({ place }: Entry): string => `${place.file} dialogue ${place.index + 1}`;

const byId = ({ place, id }: Entry): string => `${place.file}: ${id}`;
