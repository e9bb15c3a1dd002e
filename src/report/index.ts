// Stage 7 of 7: an evaluation becomes numbers with intervals, a verdict in words and pages to listen to.
export { buildReport, indexed } from "./build-report.ts";
export { cellKey, type Cell, type CellAddress, type TableName } from "./cell.ts";
export { findingOf, type Finding } from "./finding.ts";
export { cellText } from "./format.ts";
export type {
  AudioSource,
  Comparison,
  LossPoint,
  ProvenanceEntry,
  ReportCheckpoint,
  ReportDialogue,
  ReportInput,
  ReportRole,
  ReportTurn,
  Selection,
} from "./input.ts";
export type { ReportModel, SuiteView, SystemView } from "./model.ts";
export { sentenceText, type Sentence } from "./sentence.ts";
export type { Verdict as ReportVerdict } from "./verdict.ts";
export { writeReport } from "./write-report.ts";
