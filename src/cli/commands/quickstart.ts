import { quickstart } from "../../workflow/index.ts";
import { defineCommand } from "../command.ts";
import { reportLines } from "../report-lines.ts";
import { inShop } from "../shop.ts";

export const quickstartCommand = defineCommand({
  positionals: {},
  options: {
    recipe: { type: "string", describe: "Recipe to train", default: "recipes/quickstart.yaml" },
  },
  json: true,
  details:
    "Packs the sample corpus, trains a tiny Qwen2.5-Omni on this machine, compares its checkpoints and writes a report to " +
    "listen to. Interrupted at any point, the same command goes on where it stopped.",
  examples: ["understudy quickstart"],
  handler: async ({ recipe }, context) => {
    const result = await inShop(context, async (shop) =>
      quickstart(shop, { dataset: "greenroom", recipe, profile: "local" }),
    );
    context.print.result(result, () => reportLines(result, context));
  },
});
