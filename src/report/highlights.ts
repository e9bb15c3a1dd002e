import type { SuiteId } from "../evaluate/index.ts";
import type { Cell } from "./cell.ts";
import type { DialogueView } from "./dialogue-views.ts";

/** A dialogue worth listening to first, and why. */
export interface Highlight {
  readonly suite: SuiteId;
  readonly dialogue: string;
  readonly why: "worst" | "best" | "spread" | "failed";
}

const EACH_END = 2;
const QUANTILES = [0.25, 0.5, 0.75];
const FAILED = 2;

/**
 * Dialogues to hear first on each suite: where the chosen checkpoint loses and gains most against the base model, some from
 * between (quartiles), and some with a failed answer. No dialogue twice.
 */
export const highlightsOf = (
  dialogues: readonly DialogueView[],
  cells: ReadonlyMap<string, Cell>,
): readonly Highlight[] => {
  const suites = [...new Set(dialogues.map(({ suite }) => suite))];
  return suites.flatMap((suite) =>
    ofSuite(
      suite,
      dialogues.filter((one) => one.suite === suite),
      cells,
    ),
  );
};

function ofSuite(
  suite: SuiteId,
  dialogues: readonly DialogueView[],
  cells: ReadonlyMap<string, Cell>,
): readonly Highlight[] {
  const changes = dialogues.flatMap(({ id, change }) => {
    const value = cells.get(change)?.estimate ?? null;
    return value === null ? [] : [{ id, value }];
  });
  const ranked = changes.toSorted((a, b) => b.value - a.value || (a.id < b.id ? -1 : 1)).map(({ id }) => id);
  const wanted: readonly Highlight[] = [
    ...ranked.slice(0, EACH_END).map((id) => highlight(suite, id, "worst")),
    ...ranked
      .toReversed()
      .slice(0, EACH_END)
      .map((id) => highlight(suite, id, "best")),
    ...dialogues
      .filter(({ failed }) => failed)
      .slice(0, FAILED)
      .map(({ id }) => highlight(suite, id, "failed")),
    ...QUANTILES.flatMap((q) => ranked[Math.floor(q * (ranked.length - 1))] ?? []).map((id) =>
      highlight(suite, id, "spread"),
    ),
  ];
  const taken = new Set<string>();
  return wanted.filter(({ dialogue }) => {
    const fresh = !taken.has(dialogue);
    taken.add(dialogue);
    return fresh;
  });
}

const highlight = (suite: SuiteId, dialogue: string, why: Highlight["why"]): Highlight => ({
  suite,
  dialogue,
  why,
});
