import { resolve } from "node:path";
import { planText } from "../../../launch/index.ts";
import {
  followToSuccess,
  jobSummary,
  planOf,
  planTrainingRun,
  prepareTraining,
  trainFromRecipe,
  type Shop,
  type TrainingRequest,
} from "../../../workflow/index.ts";
import { tellDoubts } from "../../check-lines.ts";
import { defineCommand } from "../../command.ts";
import type { Context } from "../../context.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { countText } from "../../quantities.ts";
import { runLine } from "../../run-line.ts";
import { inShop } from "../../shop.ts";
import { accepted, nextLine, startExit } from "./accepted.ts";
import { estimateLines } from "./estimate-lines.ts";
import { commandLine, summaryLines } from "./summary-lines.ts";

export const runStart = defineCommand({
  positionals: { recipe: { describe: "Recipe file, e.g. recipes/quickstart.yaml", complete: "recipe" } },
  options: {
    on: {
      type: "string",
      describe: "Launcher profile: launchers/NAME.yaml",
      default: "local",
      value: "NAME",
      complete: "profile",
    },
    set: { type: "string", many: true, describe: "Override one value", value: "PATH=VALUE" },
    dryRun: { type: "boolean", describe: "Print the plan that would be sent, and start nothing" },
    verbose: { type: "boolean", describe: "With --dry-run: each file of the payload, too" },
    follow: { type: "boolean", alias: "f", describe: "Watch the run until it ends" },
    force: { type: "boolean", describe: "Start although a check failed; recorded with the run" },
  },
  json: true,
  details:
    "Checks recipe, data and machine first and says everything that is wrong, then what goes where and what it costs at " +
    "least. The run goes on when this command or its terminal ends. Ends with 4 when no machine has taken it yet: then only " +
    "who watches tries again. --dry-run asks no other machine and starts nothing.",
  examples: [
    "understudy run start recipes/quickstart.yaml --dry-run",
    "understudy run start recipes/quickstart.yaml --set training.learningRate=2e-3 -f",
    "understudy run start recipes/speechrole-agent.yaml --on my-slurm --dry-run",
  ],
  handler: async ({ recipe, on, set, dryRun, verbose, follow, force }, context) =>
    inShop(context, async (shop) => {
      const request: TrainingRequest = {
        recipe: resolve(context.cwd, recipe),
        folder: context.cwd,
        set,
        profile: on,
        force,
      };
      return dryRun ? plan(shop, context, request, verbose) : start(shop, context, request, follow);
    }),
});

async function plan(
  shop: Shop,
  { print }: Context,
  request: TrainingRequest,
  verbose: boolean,
): Promise<ExitCode> {
  const { job, resolution, estimate, notes } = await planTrainingRun(shop, request);
  const warnings = [...resolution.warnings, ...estimate.warnings, ...notes];
  const planned = await planOf(shop, job);
  const summary = jobSummary(job);
  print.result({ summary, estimate, plan: planText(planned), checks: [], warnings }, () => [
    ...summaryLines(summary, request.profile),
    commandLine(planned),
    "",
    ...estimateLines(estimate, resolution.resolved.plan),
    "",
  ]);
  print.quote(planText(planned, { brief: !verbose }));
  for (const warning of warnings) print.warn(warning);
  return EXIT.ok;
}

async function start(
  shop: Shop,
  { print }: Context,
  request: TrainingRequest,
  follow: boolean,
): Promise<ExitCode> {
  const prepared = await prepareTraining(shop, request);
  const { job, resolution, estimate, checks, forced } = prepared;
  const { plan: steps } = resolution.resolved;
  const warnings = [...resolution.warnings, ...estimate.warnings];
  for (const line of [...summaryLines(jobSummary(job), request.profile), ...estimateLines(estimate, steps)])
    print.note(line);
  tellDoubts(checks, print);
  for (const warning of warnings) print.warn(warning);
  for (const line of forced) print.warn(`started although ${line} (--force, recorded with the run)`);
  const run = await trainFromRecipe(shop, prepared, request.profile);
  const ended = follow ? await followToSuccess(shop, run.id) : accepted(run);
  const next = follow ? `next: understudy eval start ${ended.id}` : await nextLine(shop, ended);
  print.result({ run: ended, warnings, estimate, checks, forced }, () => [
    runLine(ended),
    `  ${countText(steps.steps)} steps, ${steps.evaluations} evaluations`,
    next,
  ]);
  return startExit(ended);
}
