import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { copyAudio } from "./audio-files.ts";
import { indexed } from "./build-report.ts";
import { loadEcharts, renderChart } from "./charts/render-chart.ts";
import { lossChart } from "./charts/loss-chart.ts";
import { roleChart } from "./charts/role-chart.ts";
import { reportCsv } from "./csv.ts";
import { headlinePair } from "./generalisation-cells.ts";
import { page } from "./html/page.ts";
import type { View } from "./html/view.ts";
import type { ReportInput } from "./input.ts";
import { reportMarkdown } from "./markdown.ts";
import type { ReportModel } from "./model.ts";
import { swapFolder } from "./swap-folder.ts";

/**
 * Writes `index.html` with its audio beside it, `report.md`, `report.csv` and `model.json`. The folder is replaced as a
 * whole; every link in it is relative, so that it can be moved, zipped or opened from a disk. Returns the path of the page.
 */
export const writeReport = async (
  model: ReportModel,
  input: ReportInput,
  folder: string,
): Promise<string> => {
  await swapFolder(folder, async (staged) => {
    const view: View = {
      model,
      cells: indexed(model.cells),
      audio: await copyAudio(input, staged),
      charts: await drawCharts(model),
    };
    await writeFile(join(staged, "index.html"), page(view).text);
    await writeFile(join(staged, "report.md"), reportMarkdown(model));
    await writeFile(join(staged, "report.csv"), reportCsv(model.cells));
    await writeFile(join(staged, "model.json"), `${JSON.stringify(model, null, 1)}\n`);
  });
  return join(folder, "index.html");
};

async function drawCharts(model: ReportModel): Promise<View["charts"]> {
  const charts = { loss: lossChart(model), roles: roleChart(model, headlinePair(model).id) };
  const draw = await loadEcharts();
  return {
    loss: charts.loss === null ? null : renderChart(charts.loss, draw),
    roles: charts.roles === null ? null : renderChart(charts.roles, draw),
  };
}
