import { endReason, type Attempt } from "../../../track/index.ts";
import {
  lockOf,
  summariesOf,
  type BudgetState,
  type RunSummary,
  type Shop,
} from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import type { Context } from "../../context.ts";
import { runLine } from "../../run-line.ts";
import { inShop } from "../../shop.ts";
import { pairLines, tableLines } from "../../table.ts";
import { visibleForeign } from "../../visible.ts";

export const runShow = defineCommand({
  positionals: { run: { describe: "Run id" } },
  options: {},
  json: true,
  details:
    "Looks at the run first, without acting. Shows its attempts and how each ended, what of its retry budgets is spent, and " +
    "what happens next.",
  handler: async ({ run: id }, context) =>
    inShop(context, async (shop) => {
      const [summary] = await summariesOf(shop, [id]);
      if (summary === undefined) return;
      const { run, attempts, isStale, lastSeen, ...rest } = summary;
      const lock = lockOf(run);
      const devLoss = shop.store.series(id, "dev/loss");
      const staleSince = isStale ? lastSeen : null;
      context.print.result({ ...run, lock, attempts, devLoss, ...rest, staleSince }, () => [
        runLine(run),
        ...pairLines(aboutRun(summary), context.columns),
        "",
        ...attemptLines(attempts, context),
        ...budgetLines(summary.budgets, context),
        ...lossLines(shop, id, context),
      ]);
    }),
});

function aboutRun({
  run,
  next,
  nextTryAt,
  lastSeen,
  isStale,
  warning,
  trouble,
}: RunSummary): (readonly [string, string])[] {
  const lock = lockOf(run);
  return [
    ["next", next],
    ...(nextTryAt === null ? [] : [["next try", nextTryAt] as const]),
    ...(warning === null ? [] : [["warning", visibleForeign(warning)] as const]),
    ...(trouble === null ? [] : [["trouble", trouble] as const]),
    ["kind", run.kind],
    ...(run.kind === "train" ? [["recipe", run.name] as const] : []),
    ["profile", `${lock.profileName} (${lock.job.profile.kind})`],
    ["folder", lock.job.runFolder],
    ["created", run.createdAt],
    ["last seen", `${lastSeen ?? run.lastSeenAt ?? "never"}${isStale ? " (stale)" : ""}`],
    ...(run.recipeDigest === null ? [] : [["recipe digest", run.recipeDigest] as const]),
    ...(run.parentId === null ? [] : [["belongs to", run.parentId] as const]),
  ];
}

function attemptLines(attempts: readonly Attempt[], context: Context): string[] {
  return tableLines({
    title: context.print.style.bold,
    width: context.columns,
    columns: [
      { title: "attempt", align: "right" },
      { title: "started" },
      { title: "ended" },
      { title: "how" },
      { title: "in words", below: true },
    ],
    rows: attempts.map(({ number, startedAt, endedAt, reason }) => [
      String(number),
      startedAt,
      endedAt ?? "",
      reason ?? "open",
      reason === null ? "" : endReason(reason).sentence,
    ]),
  });
}

// What nothing was spent of is the ordinary case.
function budgetLines(budgets: readonly BudgetState[], context: Context): string[] {
  const spent = budgets.filter((budget) => budget.spent > 0);
  if (spent.length === 0) return [];
  const amount = (number: number, { unit }: BudgetState): string =>
    unit === "days" ? `${number.toFixed(1)} days` : String(number);
  return [
    "",
    ...tableLines({
      title: context.print.style.bold,
      columns: [
        { title: "retries for" },
        { title: "spent", align: "right" },
        { title: "allowed", align: "right" },
        { title: "left", align: "right" },
      ],
      rows: spent.map((budget) => [
        budget.budget,
        amount(budget.spent, budget),
        amount(budget.allowed, budget),
        amount(Math.max(0, budget.allowed - budget.spent), budget),
      ]),
    }),
  ];
}

function lossLines(shop: Shop, id: string, context: Context): string[] {
  const devLoss = shop.store.series(id, "dev/loss");
  if (devLoss.length === 0) return [];
  return [
    "",
    ...tableLines({
      title: context.print.style.bold,
      columns: [
        { title: "step", align: "right" },
        { title: "dev loss", align: "right" },
      ],
      rows: devLoss.map(({ step, value }) => [String(step), value.toFixed(4)]),
    }),
  ];
}
