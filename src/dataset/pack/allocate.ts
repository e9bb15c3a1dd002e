import { sha256 } from "../../core/hash.ts";
import { compare } from "../text.ts";

/** Members in the order of a seeded hash of their key: the same for any order of the input. */
export const ranked = <Member>(
  members: readonly Member[],
  salt: string,
  keyOf: (member: Member) => string,
): readonly Member[] =>
  members
    .map((member) => ({ member, rank: sha256(`${salt}|${keyOf(member)}`) }))
    .toSorted((a, b) => compare(a.rank, b.rank))
    .map(({ member }) => member);

/** Members by a property, groups in the order of its value. */
export const grouped = <Member>(
  members: readonly Member[],
  groupOf: (member: Member) => string,
): ReadonlyMap<string, readonly Member[]> => {
  const groups = new Map<string, Member[]>();
  for (const member of members) {
    const key = groupOf(member);
    const group = groups.get(key);
    if (group) group.push(member);
    else groups.set(key, [member]);
  }
  return new Map([...groups].toSorted(([a], [b]) => compare(a, b)));
};

/**
 * How many of `count` each group gets, in proportion to its size, by largest remainders (Hamilton's method): whole
 * numbers that add up, none above the size of its group. Of equal remainders the earlier group wins.
 */
export const allocate = (sizes: readonly number[], count: number): readonly number[] => {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total === 0) return sizes.map(() => 0);
  const wanted = Math.min(count, total);
  const shares = sizes.map((size) => (size * wanted) / total);
  const given = shares.map(Math.floor);
  const left = wanted - given.reduce((sum, part) => sum + part, 0);
  const byRemainder = shares
    .map((share, index) => ({ index, remainder: share - Math.floor(share) }))
    .toSorted((a, b) => b.remainder - a.remainder || a.index - b.index);
  for (const { index } of byRemainder.slice(0, left)) given[index] = (given[index] ?? 0) + 1;
  return given;
};
