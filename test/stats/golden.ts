import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { z } from "zod";

const GoldenFile = z.object({
  cases: z.array(
    z.object({ id: z.string(), input: z.unknown(), expected: z.unknown(), tolerance: z.number() }),
  ),
});

const file = GoldenFile.parse(
  JSON.parse(readFileSync(join(import.meta.dirname, "../golden/eval.json"), "utf8")),
);

export const goldenIds: readonly string[] = file.cases.map((one) => one.id);

export interface Golden<I, E> {
  readonly input: I;
  readonly expected: E;
  /** Compares numbers, null, lists and records with the tolerance of the case. */
  readonly close: (got: unknown, want: unknown) => void;
}

/** One golden case, its input and expectation read through schemas. */
export function golden<I, E>(id: string, input: z.ZodType<I>, expected: z.ZodType<E>): Golden<I, E> {
  const found = file.cases.find((one) => one.id === id);
  if (found === undefined) throw new Error(`No golden case ${id}`);
  return {
    input: input.parse(found.input),
    expected: expected.parse(found.expected),
    close: (got, want) => expectClose(got, want, found.tolerance),
  };
}

/** |got - want| <= tolerance x max(1, |want|) for every number; anything else must be equal. */
export function expectClose(got: unknown, want: unknown, tolerance: number): void {
  if (typeof want === "number" && typeof got === "number") {
    const error = Math.abs(got - want);
    expect(error, `${got} against ${want}`).toBeLessThanOrEqual(tolerance * Math.max(1, Math.abs(want)));
  } else if (Array.isArray(want) && Array.isArray(got)) {
    expect(got).toHaveLength(want.length);
    for (const [index, item] of want.entries()) expectClose(got[index], item, tolerance);
  } else if (isRecord(want) && isRecord(got)) {
    expect(Object.keys(got).toSorted()).toEqual(Object.keys(want).toSorted());
    for (const [key, item] of Object.entries(want)) expectClose(got[key], item, tolerance);
  } else expect(got).toEqual(want);
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
