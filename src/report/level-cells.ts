import { FAILURE_CLASSES, failuresOf } from "../evaluate/index.ts";
import { type Cell, cell } from "./cell.ts";
import { contaminated, meanOverRoles } from "./estimates.ts";
import { FAILED, failureOutcome, JUDGED, type Outcome } from "./outcomes.ts";
import type { Prepared, PreparedSuite } from "./prepare.ts";
import { instanceValues, roleValues } from "./role-values.ts";

/** Systems × outcomes on each suite that has instances: macro mean over roles with its interval, and its coverage. */
export const levelCells = (prepared: Prepared, outcomes: readonly Outcome[]): readonly Cell[] =>
  prepared.suites
    .filter(({ expected }) => expected.length > 0)
    .flatMap((suite) =>
      prepared.systems.flatMap(({ id: system }) => {
        const place = { prepared, suite, system };
        return [
          ...outcomes
            .filter(({ group }) => group === "likelihood" || group === "measure")
            .map((outcome) => meanCell(place, outcome)),
          ...failureCells(place),
          ...JUDGED.map((outcome) => judgedCell(place, outcome)),
        ];
      }),
    );

interface Place {
  readonly prepared: Prepared;
  readonly suite: PreparedSuite;
  readonly system: string;
}

const base = ({ suite, system }: Place, outcome: Outcome) =>
  ({
    table: "level",
    system,
    suite: suite.id,
    outcome: outcome.id,
    unit: outcome.unit,
    digits: outcome.digits,
    expected: suite.expected.length,
  }) as const;

function meanCell(place: Place, outcome: Outcome): Cell {
  const { prepared, suite, system } = place;
  const values = instanceValues(prepared.result(system, suite.id), outcome);
  const byRole = roleValues(values);
  const estimate = meanOverRoles(byRole);
  return cell({
    ...base(place, outcome),
    ...contaminated(prepared, [system], estimate),
    roles: byRole.size,
    scored: values.length,
  });
}

function failureCells(place: Place): readonly Cell[] {
  const { prepared, suite, system } = place;
  const result = prepared.result(system, suite.id);
  const failures = failuresOf(result, prepared.input.limits);
  const counted = (outcome: Outcome, n: number): Cell =>
    cell({
      ...base(place, outcome),
      estimate: n,
      scored: result.answers.length,
      roles: new Set(result.answers.map(({ role }) => role)).size,
    });
  return [
    counted(FAILED, failures.length),
    ...FAILURE_CLASSES.map((name) =>
      counted(failureOutcome(name), failures.filter((failure) => failure.class === name).length),
    ),
  ];
}

function judgedCell(place: Place, outcome: Outcome): Cell {
  const { judge } = place.prepared.input.evaluation;
  return cell({
    ...base(place, outcome),
    roles: 0,
    scored: 0,
    reason: judge.status === "none" ? "unscored: no judge" : "unscored: no verdicts in this evaluation",
  });
}
