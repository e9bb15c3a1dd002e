import { evaluateRun, reportRun, runIdOf } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { reportLines } from "../../report-lines.ts";
import { inShop } from "../../shop.ts";

export const evalStart = defineCommand({
  positionals: {
    run: { describe: "Id of a training run; one that still trains is waited for", complete: "run" },
  },
  options: {},
  json: true,
  details:
    "Base model, lowest dev loss and last checkpoint score the reference text and answer the test dialogues on seen and " +
    "unseen roles; then the report is written. What was finished before is not done again. A run that still trains is watched " +
    "here until its success is proven; when it ends otherwise the evaluation is blocked, and this command ends with 4.",
  handler: async ({ run: word }, context) => {
    const report = await inShop(context, async (shop) => {
      const run = runIdOf(shop.store, word);
      return reportRun(shop, run, await evaluateRun(shop, run));
    });
    context.print.result(report, () => reportLines(report, context));
  },
});
