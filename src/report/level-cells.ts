import { FAILURE_CLASSES, failuresOf, UNCHECKED_FAILURES } from "../evaluate/index.ts";
import { type Cell, cell } from "./cell.ts";
import { contaminated, meanOverRoles } from "./estimates.ts";
import { judgedCells } from "./judged-cells.ts";
import { judgedValues } from "./judged-values.ts";
import { FAILED, failureOutcome, type Outcome } from "./outcomes.ts";
import type { Prepared, PreparedSuite } from "./prepare.ts";
import { instanceValues, roleValues } from "./role-values.ts";

/** Systems × outcomes on each suite that has instances: macro mean over roles with its interval, and its coverage. */
export const levelCells = (prepared: Prepared, outcomes: readonly Outcome[]): readonly Cell[] => {
  const judged = judgedValues(prepared);
  return prepared.suites
    .filter(({ expected }) => expected.length > 0)
    .flatMap((suite) =>
      prepared.systems.flatMap(({ id: system }) => {
        const place = { prepared, suite, system };
        return [
          ...outcomes
            .filter(({ group }) => group === "likelihood" || group === "measure")
            .map((outcome) => meanCell(place, outcome)),
          ...failureCells(place),
          ...judgedCells(place, judged),
        ];
      }),
    );
};

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
  const counts = {
    scored: result.answers.length,
    roles: new Set(result.answers.map(({ role }) => role)).size,
  };
  const unchecked = uncheckedReasons(place);
  return [
    cell({ ...base(place, FAILED), ...counts, estimate: failures.length }),
    ...[...FAILURE_CLASSES, ...UNCHECKED_FAILURES].map((name) => {
      const found = failures.filter((failure) => failure.class === name).length;
      const reason = unchecked[name] ?? null;
      // Nothing found by nobody looking is not 0.
      if (found === 0 && reason !== null) return cell({ ...base(place, failureOutcome(name)), reason });
      return cell({ ...base(place, failureOutcome(name)), ...counts, estimate: found, reason });
    }),
  ];
}

function uncheckedReasons({ prepared, suite, system }: Place): Readonly<Record<string, string | undefined>> {
  const measured = prepared
    .result(system, suite.id)
    .measures.some(({ measure, value }) => measure === "silence_share" && value !== null);
  return {
    ...Object.fromEntries(UNCHECKED_FAILURES.map((name) => [name, "not checked"])),
    ...(measured ? {} : { silent: "silence was not measured" }),
    ...(prepared.input.limits === undefined ? { cut: "the limits of decoding are not known" } : {}),
  };
}
