import type { DatasetSpec, DialogueKind, Split } from "../schema.ts";
import { grouped, ranked } from "./allocate.ts";
import type { Entry } from "./entry.ts";
import type { HeldOut } from "./held-out.ts";
import { inseparable } from "./inseparable.ts";

/** Entries of each split, in the order of their rows. */
export type SplitEntries = Readonly<Record<Split, readonly Entry[]>>;

type Settings = Pick<DatasetSpec["splits"], "seed" | "devPerRole" | "testPerRole">;

/**
 * Divides the dialogues. The source's own test sessions are test; where it has none, `testPerRole` of each role are
 * drawn. Training dialogues of held-out roles are ood, all those of dev roles dev, and `devPerRole` of each seen role
 * dev; the rest is train. Draws go by a seeded hash of the id, in proportion over single and multi, and never part
 * dialogues of a role that share an answer or a role clip. Rows are shuffled by another seeded hash. Nothing depends on
 * the order of the input.
 */
export const splitEntries = (
  entries: readonly Entry[],
  heldOut: HeldOut,
  { seed, devPerRole, testPerRole }: Settings,
): SplitEntries => {
  const published = entries.filter((entry) => entry.pool === "test");
  const pool = entries.filter((entry) => entry.pool === "train");
  const test =
    published.length > 0
      ? new Set<Entry>()
      : drawPerRole(pool, testPerRole, { salt: `${seed}|test`, balanced: true });
  const rest = pool.filter((entry) => !test.has(entry));
  const seen = rest.filter((entry) => !heldOut.ood.has(entry.roleId) && !heldOut.dev.has(entry.roleId));
  const dev = drawPerRole(seen, devPerRole, { salt: `${seed}|dev`, balanced: false });
  const rows = (members: readonly Entry[]): readonly Entry[] =>
    ranked(members, `${seed}|rows`, (entry) => entry.id);
  return {
    train: rows(seen.filter((entry) => !dev.has(entry))),
    dev: rows(rest.filter((entry) => dev.has(entry) || heldOut.dev.has(entry.roleId))),
    ood: rows(rest.filter((entry) => heldOut.ood.has(entry.roleId))),
    test: rows([...published, ...test]),
  };
};

export const groupByRole = (entries: readonly Entry[]): ReadonlyMap<string, readonly Entry[]> =>
  grouped(entries, (entry) => entry.roleId);

interface Draw {
  readonly salt: string;
  /** Single and multi in equal parts, as the published test has them; else as the hash has it. */
  readonly balanced: boolean;
}

function drawPerRole(pool: readonly Entry[], count: number, draw: Draw): ReadonlySet<Entry> {
  const drawn = [...groupByRole(pool).values()].flatMap((role) => drawFrom(role, count, draw));
  return new Set(drawn);
}

function drawFrom(role: readonly Entry[], count: number, { salt, balanced }: Draw): readonly Entry[] {
  const groups = inseparable(role);
  // Dialogues that stand alone come first: a group goes as a whole, and would make the draw larger than asked for.
  const order = ranked(groups, salt, ([first]) => first?.id ?? "").toSorted((a, b) => a.length - b.length);
  if (!balanced) return take(order, count);
  const ofKind = (kind: DialogueKind): typeof order => order.filter(([first]) => first?.kind === kind);
  const [singles, multis] = [ofKind("single"), ofKind("multi")];
  const fromSingles = take(singles, Math.max(Math.ceil(count / 2), count - size(multis)));
  return [...fromSingles, ...take(multis, count - fromSingles.length)];
}

function take(groups: readonly (readonly Entry[])[], count: number): readonly Entry[] {
  const taken: Entry[] = [];
  for (const group of groups) {
    if (taken.length >= count) break;
    taken.push(...group);
  }
  return taken;
}

const size = (groups: readonly (readonly Entry[])[]): number =>
  groups.reduce((sum, group) => sum + group.length, 0);
