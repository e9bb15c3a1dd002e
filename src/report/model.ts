import type { Evaluation, SuiteId } from "../evaluate/index.ts";
import type { Cell } from "./cell.ts";
import type { LossSeries } from "./checkpoint-cells.ts";
import type { Pair } from "./difference-cells.ts";
import type { DialogueView } from "./dialogue-views.ts";
import type { Highlight } from "./highlights.ts";
import type { Comparison, ProvenanceEntry, ReportCheckpoint, ReportRole, Selection } from "./input.ts";
import type { Outcome } from "./outcomes.ts";
import type { Verdict } from "./verdict.ts";

export interface SystemView {
  readonly id: string;
  readonly label: string;
  readonly step: number | null;
  readonly speaker: string;
  readonly weightsDigest: string;
  /** Ids of other systems that are the same model state. */
  readonly sameAs: readonly string[];
}

export interface SuiteView {
  readonly id: SuiteId;
  /** `Seen roles` */
  readonly label: string;
  readonly roles: number;
  readonly instances: number;
}

export interface FailureView {
  readonly system: string;
  readonly suite: SuiteId;
  readonly dialogue: string;
  readonly turn: number;
  readonly roleName: string;
  readonly class: string;
  readonly message: string;
}

/** Everything the report shows, calculated; the pages only set it in type. */
export interface ReportModel {
  readonly schemaVersion: 1;
  readonly run: string;
  readonly recipe: string;
  readonly evaluation: string;
  readonly judge: Evaluation["judge"];
  readonly comparison: Comparison;
  readonly selection: Selection;
  readonly systems: readonly SystemView[];
  readonly suites: readonly SuiteView[];
  readonly roles: readonly ReportRole[];
  readonly trainingRoles: number;
  readonly outcomes: readonly Outcome[];
  readonly pairs: readonly Pair[];
  readonly verdict: Verdict;
  readonly cells: readonly Cell[];
  readonly losses: LossSeries;
  readonly checkpoints: readonly ReportCheckpoint[];
  readonly failures: readonly FailureView[];
  readonly dialogues: readonly DialogueView[];
  readonly highlights: readonly Highlight[];
  readonly provenance: readonly ProvenanceEntry[];
}
