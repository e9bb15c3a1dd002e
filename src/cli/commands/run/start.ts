import { resolve } from "node:path";
import {
  dryRun,
  followToSuccess,
  freshRunId,
  prepareTraining,
  trainFromRecipe,
} from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import { countText } from "../../quantities.ts";
import { runLine } from "../../run-line.ts";
import { inShop } from "../../shop.ts";

export const runStart = defineCommand({
  positionals: { recipe: { describe: "Recipe (YAML)" } },
  options: {
    on: {
      type: "string",
      describe: "Launcher profile: launchers/NAME.yaml",
      default: "local",
      value: "NAME",
    },
    set: { type: "string", many: true, describe: "Override one value", value: "PATH=VALUE" },
    dryRun: { type: "boolean", describe: "Print the plan that would be sent, and start nothing" },
    follow: { type: "boolean", alias: "f", describe: "Watch the run until it ends" },
    force: { type: "boolean", describe: "Start although a check failed; recorded with the run" },
  },
  json: true,
  details:
    "Checks recipe, data and machine first and says everything that is wrong. The run goes on when this command or its " +
    "terminal ends.",
  examples: [
    "understudy run start recipes/quickstart.yaml --dry-run",
    "understudy run start recipes/quickstart.yaml --set training.learningRate=2e-3 -f",
  ],
  handler: async ({ recipe, on, set, dryRun: dry, follow, force }, context) =>
    inShop(context, async (shop) => {
      const prepared = await prepareTraining(shop, {
        recipe: resolve(context.cwd, recipe),
        folder: context.cwd,
        set,
        profile: on,
        runId: freshRunId(shop, "run"),
        force,
      });
      const { warnings, resolved } = prepared.resolution;
      for (const warning of warnings) context.print.warn(warning);
      if (dry) {
        const plan = await dryRun(shop, prepared.job);
        context.print.result({ plan, checks: prepared.checks, warnings }, () => [plan]);
        return;
      }
      const run = await trainFromRecipe(shop, prepared, on);
      const ended = follow ? await followToSuccess(shop, run.id) : run;
      context.print.result({ run: ended, warnings }, () => [
        runLine(ended),
        `  ${countText(resolved.plan.steps)} steps, ${resolved.plan.evaluations} evaluations`,
        follow ? `next: understudy eval start ${ended.id}` : `next: understudy run logs ${ended.id} -f`,
      ]);
    }),
});
