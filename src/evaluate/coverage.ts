import { instanceKey } from "./instance-key.ts";
import type { Instance, MeasureRow, SuiteResult } from "./schema.ts";

/** How many of the expected instances have a value. The rest is named, never averaged. */
export interface Coverage {
  readonly scored: number;
  readonly expected: number;
  readonly missing: readonly Instance[];
}

export interface ResultCoverage {
  readonly scores: Coverage;
  /** Answers with a row, failed or not. */
  readonly answers: Coverage;
  /** By measure name; a row without a value counts as missing. */
  readonly measures: ReadonlyMap<string, Coverage>;
}

/** Coverage of everything that one system did on one suite. */
export const coverageOf = (result: SuiteResult): ResultCoverage => {
  const byMeasure = new Map<string, MeasureRow[]>();
  for (const row of result.measures) {
    const rows = byMeasure.get(row.measure) ?? [];
    byMeasure.set(row.measure, rows);
    if (row.value !== null) rows.push(row);
  }
  return {
    scores: cover(result.expected, result.scores),
    answers: cover(result.expected, result.answers),
    measures: new Map(
      [...byMeasure.keys()]
        .toSorted()
        .map((name) => [name, cover(result.expected, byMeasure.get(name) ?? [])]),
    ),
  };
};

/** `12/12`, or `11/12` when something is missing. */
export const coverageText = ({ scored, expected }: Pick<Coverage, "scored" | "expected">): string =>
  `${scored}/${expected}`;

function cover(expected: readonly Instance[], rows: readonly Instance[]): Coverage {
  const found = new Set(rows.map(instanceKey));
  const missing = expected.filter((instance) => !found.has(instanceKey(instance)));
  return { scored: expected.length - missing.length, expected: expected.length, missing };
}
