import { UserError } from "../core/errors.ts";
import {
  byInstance,
  type Evaluation,
  instanceKey,
  SUITES,
  type SuiteId,
  type SuiteResult,
  type System,
} from "../evaluate/index.ts";
import type { ReportInput } from "./input.ts";

/** Roles and instances of one suite, the same for every system. */
export interface PreparedSuite {
  readonly id: SuiteId;
  readonly expected: SuiteResult["expected"];
  readonly roles: readonly string[];
}

/** The input in one order, so that the order it came in cannot be seen in the report. */
export interface Prepared {
  readonly input: ReportInput;
  readonly systems: readonly System[];
  readonly suites: readonly PreparedSuite[];
  readonly roleNames: ReadonlyMap<string, string>;
  readonly result: (system: string, suite: SuiteId) => SuiteResult;
  /** True when the two are one model state with one voice. */
  readonly same: (a: string, b: string) => boolean;
}

/** Sorts and checks the input. UserError `REPORT_SYSTEM_UNKNOWN`, `REPORT_RESULT_TWICE`, `REPORT_SUITES_DIFFER`. */
export const prepare = (input: ReportInput): Prepared => {
  const { evaluation, comparison } = input;
  const systems = orderedSystems(input);
  for (const id of [comparison.base, comparison.chosen, comparison.last]) systemOf(systems, id);
  const results = resultMap(evaluation);
  const suites = SUITES.map((id) => suiteOf(id, evaluation));
  return {
    input,
    systems,
    suites,
    roleNames: new Map(input.roles.map(({ id, name }) => [id, name])),
    result: (system, suite) =>
      results.get(`${suite} ${system}`) ?? {
        system,
        suite,
        expected: suites.find(({ id }) => id === suite)?.expected ?? [],
        scores: [],
        answers: [],
        measures: [],
        answersFolder: "",
      },
    same: (a, b) => identity(systemOf(systems, a)) === identity(systemOf(systems, b)),
  };
};

/** The system with this id; UserError `REPORT_SYSTEM_UNKNOWN`. */
export const systemOf = (systems: readonly System[], id: string): System => {
  const system = systems.find((candidate) => candidate.id === id);
  if (system === undefined) {
    throw new UserError("REPORT_SYSTEM_UNKNOWN", `The evaluation has no system "${id}"`, {
      hint: `systems here: ${systems.map((known) => known.id).join(", ")}`,
    });
  }
  return system;
};

const identity = ({ weightsDigest, speaker }: System): string => `${speaker} ${weightsDigest}`;

function orderedSystems({ evaluation, comparison }: ReportInput): readonly System[] {
  const named = [comparison.base, comparison.chosen, comparison.last];
  const rank = ({ id }: System): number => (named.includes(id) ? named.indexOf(id) : named.length);
  return evaluation.systems.toSorted(
    (a, b) => rank(a) - rank(b) || (a.step ?? -1) - (b.step ?? -1) || (a.id < b.id ? -1 : 1),
  );
}

function resultMap(evaluation: Evaluation): ReadonlyMap<string, SuiteResult> {
  const results = new Map<string, SuiteResult>();
  for (const result of evaluation.results) {
    const key = `${result.suite} ${result.system}`;
    if (results.has(key)) {
      throw new UserError(
        "REPORT_RESULT_TWICE",
        `There are two results of "${result.system}" on ${result.suite}`,
      );
    }
    results.set(key, {
      ...result,
      expected: result.expected.toSorted(byInstance),
      scores: result.scores.toSorted(byInstance),
      answers: result.answers.toSorted(byInstance),
      measures: result.measures.toSorted((a, b) => byInstance(a, b) || (a.measure < b.measure ? -1 : 1)),
    });
  }
  return results;
}

function suiteOf(id: SuiteId, evaluation: Evaluation): PreparedSuite {
  const lists = evaluation.results
    .filter(({ suite }) => suite === id)
    .map(({ expected }) => expected.toSorted(byInstance));
  const texts = new Set(lists.map((list) => list.map(instanceKey).join("\n")));
  if (texts.size > 1) {
    throw new UserError(
      "REPORT_SUITES_DIFFER",
      `The systems were not evaluated on the same instances of ${id}`,
      {
        hint: "evaluate all of them on the suites of the tuned run",
      },
    );
  }
  const expected = lists[0] ?? [];
  return { id, expected, roles: [...new Set(expected.map(({ role }) => role))].toSorted() };
}
