import { evaluateRun, reportRun } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { reportLines } from "../../report-lines.ts";
import { inShop } from "../../shop.ts";

export const evalStart = defineCommand({
  positionals: { run: { describe: "Id of a finished training run" } },
  options: {},
  json: true,
  details:
    "Base model, lowest dev loss and last checkpoint score the reference text and answer the test dialogues on seen and " +
    "unseen roles; then the report is written. What was finished before is not done again.",
  handler: async ({ run }, context) => {
    const report = await inShop(context, async (shop) => reportRun(shop, run, await evaluateRun(shop, run)));
    context.print.result(report, () => reportLines(report, context));
  },
});
