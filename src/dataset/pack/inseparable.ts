import { compare } from "../text.ts";
import type { Entry } from "./entry.ts";

/**
 * Groups of dialogues that must stay on one side of a split because they share a question with its answer, or a role
 * clip; most groups have one member. Members, and groups, in the order of ids.
 */
export const inseparable = (entries: readonly Entry[]): readonly (readonly Entry[])[] => {
  const sorted = entries.toSorted((a, b) => compare(a.id, b.id));
  const parent = sorted.map((_, index) => index);
  const find = (index: number): number => {
    let root = index;
    for (let up = parent[root] ?? root; up !== root; up = parent[root] ?? root) root = up;
    parent[index] = root;
    return root;
  };
  const firstWith = new Map<string, number>();
  for (const [index, entry] of sorted.entries())
    for (const key of [...entry.pairs, ...entry.roleAudio]) {
      const other = firstWith.get(key);
      if (other === undefined) firstWith.set(key, index);
      else {
        const [a, b] = [find(other), find(index)];
        parent[Math.max(a, b)] = Math.min(a, b);
      }
    }
  const groups = new Map<number, Entry[]>();
  for (const [index, entry] of sorted.entries()) {
    const root = find(index);
    const group = groups.get(root);
    if (group) group.push(entry);
    else groups.set(root, [entry]);
  }
  return [...groups.values()];
};
