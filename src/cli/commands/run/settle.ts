import { runIdOf, settleRun } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { runLine } from "../../run-line.ts";
import { inShop } from "../../shop.ts";
import { RUN } from "./run-argument.ts";

export const runSettle = defineCommand({
  positionals: { run: RUN },
  options: {
    as: {
      type: "string",
      required: true,
      choices: ["failed", "cancelled", "lost", "succeeded"],
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
    "For a run that is lost or ambiguous: no evidence decides, so a person does. Also for one whose stop was asked for and " +
    "whose machine does not answer, e.g. because it is gone for good; it is asked once more first. Make sure that its job no " +
    "longer runs. The run can be resumed afterwards unless it succeeded.",
  examples: [
    'understudy run settle RUN --as failed --because "the node was reinstalled"',
    'understudy run settle RUN --as cancelled --because "the host was given back"',
  ],
  handler: async ({ run: word, as, because }, context) =>
    inShop(context, async (shop) => {
      const runId = runIdOf(shop.store, word);
      const run = await settleRun(shop, { runId, as, because });
      context.print.result({ ...run, lock: undefined }, () => [runLine(run)]);
    }),
});
