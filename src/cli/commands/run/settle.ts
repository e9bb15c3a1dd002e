import { settleRun } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { runLine } from "../../run-line.ts";
import { inShop } from "../../shop.ts";

export const runSettle = defineCommand({
  positionals: { run: { describe: "Run id" } },
  options: {
    as: {
      type: "string",
      required: true,
      choices: ["failed", "cancelled", "succeeded"],
      describe: "What became of it; succeeded only when its last checkpoint proves it",
    },
    because: {
      type: "string",
      required: true,
      value: "TEXT",
      describe: "Why you decide so; kept with the run",
    },
  },
  json: true,
  details:
    "For a run that is lost or ambiguous: no evidence decides, so a person does. Make sure that its job no longer runs. The " +
    "run can be resumed afterwards unless it succeeded.",
  examples: ['understudy run settle RUN --as failed --because "the node was reinstalled"'],
  handler: async ({ run: runId, as, because }, context) =>
    inShop(context, async (shop) => {
      const run = await settleRun(shop, { runId, as, because });
      context.print.result({ ...run, lock: undefined }, () => [runLine(run)]);
    }),
});
