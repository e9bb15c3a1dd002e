import { evaluateRun, reportRun, runIdOf } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { reportLines } from "../../report-lines.ts";
import { inShop } from "../../shop.ts";

export const reportBuild = defineCommand({
  positionals: { run: { describe: "Id of an evaluated training run", complete: "run" } },
  options: {},
  json: true,
  details: "Writes the report anew from the rows that are kept. Rows that are missing are made first.",
  handler: async ({ run: word }, context) => {
    const report = await inShop(context, async (shop) => {
      const run = runIdOf(shop.store, word);
      return reportRun(shop, run, await evaluateRun(shop, run));
    });
    context.print.result(report, () => reportLines(report, context));
  },
});
