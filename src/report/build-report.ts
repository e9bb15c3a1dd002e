import { InternalError } from "../core/errors.ts";
import { failuresOf } from "../evaluate/index.ts";
import { byCell, type Cell } from "./cell.ts";
import { checkpointCells, lossSeries, sortedCheckpoints } from "./checkpoint-cells.ts";
import { dialogueViews } from "./dialogue-views.ts";
import { differenceCells, pairsOf } from "./difference-cells.ts";
import { generalisationCells } from "./generalisation-cells.ts";
import { highlightsOf } from "./highlights.ts";
import type { ReportInput } from "./input.ts";
import { levelCells } from "./level-cells.ts";
import type { FailureView, ReportModel, SuiteView, SystemView } from "./model.ts";
import { outcomesOf } from "./outcomes.ts";
import { prepare, type Prepared } from "./prepare.ts";
import { verdictOf } from "./verdict.ts";

/**
 * All arithmetic of the report, from rows to sentences. Pure, and blind to the order of any list in the input: the same
 * rows give the same model. UserError `REPORT_SYSTEM_UNKNOWN`, `REPORT_RESULT_TWICE`, `REPORT_SUITES_DIFFER`.
 */
export const buildReport = (input: ReportInput): ReportModel => {
  const prepared = prepare(input);
  const outcomes = outcomesOf(prepared);
  const views = dialogueViews(prepared, outcomes);
  const cells = [
    ...levelCells(prepared, outcomes),
    ...differenceCells(prepared, outcomes),
    ...generalisationCells(prepared),
    ...checkpointCells(prepared),
    ...views.cells,
  ].toSorted(byCell);
  const byKey = indexed(cells);
  return {
    schemaVersion: 1,
    run: input.run,
    recipe: input.recipe,
    evaluation: input.evaluation.id,
    judge: input.evaluation.judge,
    comparison: input.comparison,
    selection: input.selection,
    systems: prepared.systems.map((system) => systemView(prepared, system.id)),
    suites: prepared.suites.map(suiteView),
    roles: input.roles.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
    trainingRoles: new Set(input.trainingRoles).size,
    outcomes,
    pairs: pairsOf(prepared),
    verdict: verdictOf(prepared, byKey),
    cells,
    losses: lossSeries(input.losses),
    checkpoints: sortedCheckpoints(prepared),
    failures: failureViews(prepared),
    dialogues: views.dialogues,
    highlights: highlightsOf(views.dialogues, byKey),
    provenance: input.provenance.toSorted((a, b) => compare(a.group, b.group) || compare(a.name, b.name)),
  };
};

/** Cells by key. */
export const indexed = (cells: readonly Cell[]): ReadonlyMap<string, Cell> => {
  const byKey = new Map(cells.map((cell) => [cell.key, cell]));
  if (byKey.size !== cells.length) throw new InternalError("REPORT_CELL_TWICE", "Two numbers share one name");
  return byKey;
};

function systemView({ systems, same }: Prepared, id: string): SystemView {
  const system = systems.find((candidate) => candidate.id === id);
  if (system === undefined) throw new InternalError("REPORT_SYSTEM_LOST", `System ${id} disappeared`);
  const { label, step, speaker, weightsDigest } = system;
  const sameAs = systems.map((other) => other.id).filter((other) => other !== id && same(other, id));
  return { id, label: label === "" ? id : label, step, speaker, weightsDigest, sameAs };
}

const suiteView = ({ id, roles, expected }: Prepared["suites"][number]): SuiteView => ({
  id,
  label: id === "test/seen" ? "Seen roles" : "Unseen roles",
  roles: roles.length,
  instances: expected.length,
});

const failureViews = ({ suites, systems, result, roleNames, input }: Prepared): readonly FailureView[] =>
  suites.flatMap(({ id: suite }) =>
    systems.flatMap(({ id: system }) =>
      failuresOf(result(system, suite), input.limits).map(({ instance, class: kind, message }) => ({
        system,
        suite,
        dialogue: instance.dialogue,
        turn: instance.turn,
        roleName: roleNames.get(instance.role) ?? instance.role,
        class: kind,
        message,
      })),
    ),
  );

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
