import { join } from "node:path";
import { InternalError } from "../core/errors.ts";
import { openDataset } from "../dataset/index.ts";
import type { Evaluation } from "../evaluate/index.ts";
import { buildReport, indexed, sentenceText, writeReport } from "../report/index.ts";
import { reportInput } from "./report-input.ts";
import { lockOf } from "./run-lock.ts";
import type { Shop } from "./shop.ts";

export interface WrittenReport {
  /** Absolute path of the page. */
  readonly path: string;
  readonly headline: string;
  /** The verdict, a sentence each. */
  readonly verdict: readonly string[];
}

/** Builds the report of an evaluated run and writes it under the state's reports folder. */
export const reportRun = async (
  shop: Shop,
  runId: string,
  evaluation: Evaluation,
): Promise<WrittenReport> => {
  const { resolved } = lockOf(shop.store.getRun(runId));
  if (resolved === null) throw new InternalError("RUN_NOT_TRAINED", `Run ${runId} has no recipe`);
  const dataset = await openDataset(shop.project, resolved.recipe.dataset.name);
  try {
    const input = await reportInput(shop, dataset, { runId, evaluation });
    const model = buildReport(input);
    const path = await writeReport(model, input, reportFolder(shop, runId));
    const cells = indexed(model.cells);
    const verdict = model.verdict.sentences.map((sentence) => sentenceText(sentence, cells).trim());
    return { path, headline: model.verdict.headline, verdict };
  } finally {
    await dataset.close();
  }
};

/** The page of a run's report, which need not be there. */
export const reportPath = (shop: Pick<Shop, "project">, runId: string): string =>
  join(reportFolder(shop, runId), "index.html");

/** Where the report of a run lies. */
export const reportFolder = (shop: Pick<Shop, "project">, runId: string): string =>
  join(shop.project.state, "reports", runId);
