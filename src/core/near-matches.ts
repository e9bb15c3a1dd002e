const MOST = 3;

/**
 * What a person may have meant by `word`: at most three of `known`, nearest first. For dotted words an equal last part
 * counts as near, so that `learningRate` finds `training.learningRate`.
 */
export const nearMatches = (word: string, known: readonly string[]): string[] => {
  const near = known
    .map((candidate) => ({ candidate, distance: distanceBetween(word, candidate) }))
    .filter(({ distance }) => distance < Infinity)
    .toSorted((a, b) => a.distance - b.distance || (a.candidate < b.candidate ? -1 : 1));
  const nearest = near[0]?.distance ?? 0;
  return near
    .filter(({ distance }) => distance <= nearest + 1)
    .slice(0, MOST)
    .map(({ candidate }) => candidate);
};

/** `; did you mean a or b?`, or nothing when nothing is near. */
export const didYouMean = (word: string, known: readonly string[]): string => {
  const near = nearMatches(word, known);
  return near.length === 0 ? "" : `; did you mean ${near.join(" or ")}?`;
};

// Infinity when too many letters differ to call it a slip.
function distanceBetween(word: string, candidate: string): number {
  const [a, b] = [word.toLowerCase(), candidate.toLowerCase()];
  const whole = withinReason(a, b);
  if (!b.includes(".")) return whole;
  // One more than the last part's own distance: an exact full path always wins.
  return Math.min(whole, withinReason(a.split(".").at(-1) ?? a, b.split(".").at(-1) ?? b) + 1);
}

function withinReason(a: string, b: string): number {
  const distance = editDistance(a, b);
  return distance <= Math.min(3, Math.ceil(a.length / 4)) ? distance : Infinity;
}

// Levenshtein with swapped neighbours counted once: `rnak` is one slip away from `rank`.
function editDistance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  const at = (row: number, column: number): number => rows[row]?.[column] ?? Infinity;
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    rows.push(current);
    for (let column = 1; column <= b.length; column++) {
      const replaced = at(row - 1, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const swaps = row > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swapped = swaps ? at(row - 2, column - 2) + 1 : Infinity;
      current.push(Math.min(at(row - 1, column) + 1, at(row, column - 1) + 1, replaced, swapped));
    }
  }
  return at(a.length, b.length);
}
