import { indexed } from "./build-report.ts";
import { type Cell, cellKey, type CellAddress } from "./cell.ts";
import { DEV_LOSS, TRAIN_LOSS } from "./checkpoint-cells.ts";
import { pOf } from "./difference-cells.ts";
import { failureGroups } from "./failure-groups.ts";
import { cellText, count, coverageOfCell, NOTHING, unitText } from "./format.ts";
import { BOTH, DID, GAIN, gainPairsOf, RAW_GAP, RETENTION } from "./generalisation-cells.ts";
import type { ReportModel } from "./model.ts";
import { spelledOut } from "./odd-characters.ts";
import { NLL } from "./outcomes.ts";
import { sentenceText } from "./sentence.ts";

/** The report as text: the same numbers in the same words, for a terminal, a commit or a chat. Without the dialogues. */
export const reportMarkdown = (model: ReportModel): string => {
  const cells = indexed(model.cells);
  const at = (address: CellAddress): Cell | undefined => cells.get(cellKey(address));
  return `${[
    `# ${safe(model.verdict.headline)}`,
    `Run ${safe(model.run)}, recipe ${safe(model.recipe)}.`,
    model.verdict.sentences.map((sentence) => `- ${safe(sentenceText(sentence, cells).trim())}`).join("\n"),
    "## Which checkpoint is better",
    "Paired differences, nats/token; below 0 the first one is better.",
    differences(model, at),
    "## Does the gain carry over to unseen roles",
    "Gain is base model less tuned, nats/token; more is better.",
    gains(model, at),
    ...model.suites.filter(({ instances }) => instances > 0).map((suite) => levels(model, at, suite)),
    "## Checkpoints",
    checkpoints(model, at),
    "## Failed answers",
    failures(model),
    "## Where the numbers come from",
    provenance(model),
  ].join("\n\n")}\n`;
};

type At = (address: CellAddress) => Cell | undefined;

function differences({ suites, pairs, systems }: ReportModel, at: At): string {
  const label = (id: string): string => systems.find((system) => system.id === id)?.label ?? id;
  return table(
    ["Suite", "Comparison", "Difference", "p", "Roles", "Turns"],
    suites
      .filter(({ instances }) => instances > 0)
      .flatMap(({ id: suite }) =>
        pairs.map((pair) => {
          const cell = at({ table: "difference", system: pair.id, suite, outcome: NLL.id });
          const p = at({ table: "difference", system: pair.id, suite, outcome: pOf(NLL.id) });
          const words = `${label(pair.a)} − ${label(pair.b)}`;
          return [suite, words, shown(cell), shown(p), String(cell?.roles ?? 0), covered(cell)];
        }),
      ),
  );
}

function gains({ pairs, comparison, systems }: ReportModel, at: At): string {
  const rows = gainPairsOf(pairs, comparison.base).map((pair) => {
    const of = (suite: string, outcome: string): string =>
      withReason(at({ table: "generalisation", system: pair.id, suite, outcome }));
    const name = systems.find(({ id }) => id === pair.a)?.label ?? pair.a;
    return [name, of("test/seen", GAIN), of("test/unseen", GAIN), of(BOTH, DID), of(BOTH, RETENTION)];
  });
  const gaps = systems.map(({ id, label }) => [
    label,
    shown(at({ table: "generalisation", system: id, suite: BOTH, outcome: RAW_GAP })),
  ]);
  return [
    table(["System", "Gain, seen", "Gain, unseen", "Unseen − seen (Welch)", "Share kept"], rows),
    table(["System", "Raw gap, unseen − seen (descriptive only)"], gaps),
  ].join("\n\n");
}

function levels(
  model: ReportModel,
  at: At,
  { id, label, roles, instances }: ReportModel["suites"][number],
): string {
  const rows = model.outcomes.map((outcome) => [
    [outcome.label, unitText(outcome, outcome.label)].filter(Boolean).join(", "),
    ...model.systems.map(({ id: system }) => {
      const cell = at({ table: "level", system, suite: id, outcome: outcome.id });
      return cell === undefined ? NOTHING : [withReason(cell), covered(cell)].filter(Boolean).join(" · ");
    }),
  ]);
  return [
    `## ${label}: ${count(roles, "role")}, ${count(instances, "turn")}`,
    table(["Outcome", ...model.systems.map((system) => system.label)], rows),
  ].join("\n\n");
}

const checkpoints = ({ checkpoints: list }: ReportModel, at: At): string =>
  table(
    ["Step", "Checkpoint", "Dev loss, nats/token", "Training loss, nats/token"],
    list.map(({ id, step, label }) => [
      String(step),
      label === "" ? id : label,
      shown(at({ table: "checkpoint", system: id, suite: "dev", outcome: DEV_LOSS })),
      shown(at({ table: "checkpoint", system: id, suite: "train", outcome: TRAIN_LOSS })),
    ]),
  );

const failures = (model: ReportModel): string =>
  model.failures.length === 0
    ? "None."
    : [
        table(
          ["Suite", "System", "Failure", "In words", "Answers", "Roles"],
          failureGroups(model).map(({ suite, systemLabel, kind, message, count: n, roles }) => [
            suite,
            systemLabel,
            kind,
            message,
            String(n),
            roles.map(({ name, failures: own }) => `${name} ${own.length}`).join(", "),
          ]),
        ),
        "Each of them is listed in index.html and model.json.",
      ].join("\n\n");

function provenance({ provenance: entries }: ReportModel): string {
  const origins = entries.some(({ origin }) => origin !== null);
  return table(
    ["Group", "Name", "Value", ...(origins ? ["Origin"] : [])],
    entries.map(({ group, name, value, origin }) => [group, name, value, ...(origins ? [origin ?? ""] : [])]),
  );
}

const shown = (cell: Cell | undefined): string => (cell === undefined ? NOTHING : cellText(cell));

const withReason = (cell: Cell | undefined): string =>
  cell === undefined || cell.reason === null ? shown(cell) : `${cellText(cell)} (${cell.reason})`;

const covered = (cell: Cell | undefined): string => (cell === undefined ? "" : coverageOfCell(cell));

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (values: readonly string[]): string => `| ${values.map(safe).join(" | ")} |`;
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n");
}

/** Text of others inside Markdown: no HTML, no table break, no new block. */
function safe(text: string): string {
  return (
    spelledOut(text.replace(/\s+/g, " "))
      .replace(/[\\`*_|#]/g, "\\$&")
      // Brackets are links only before these; intervals keep theirs.
      .replace(/\](?=[([:])/g, "\\]")
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
  );
}
