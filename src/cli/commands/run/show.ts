import { endWords, type Attempt } from "../../../track/index.ts";
import {
  lockOf,
  mirrorState,
  runIdOf,
  settlementsOf,
  summariesOf,
  type BudgetState,
  type MirrorState,
  type RunSummary,
  type Shop,
} from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import type { Context } from "../../context.ts";
import { runLine } from "../../run-line.ts";
import { inShop } from "../../shop.ts";
import { pairLines, tableLines } from "../../table.ts";
import { visibleForeign } from "../../visible.ts";
import { wrap } from "../../wrap.ts";
import { askOf, LOOK_OPTIONS } from "./look-options.ts";
import { RUN } from "./run-argument.ts";

export const runShow = defineCommand({
  positionals: { run: RUN },
  options: LOOK_OPTIONS,
  json: true,
  details:
    "Looks at the run first, without acting. Shows its attempts and how each ended, what of its retry budgets is spent, and " +
    "what happens next. A cluster is asked at most every pollSeconds of the profile, see run list.",
  handler: async ({ run: word, fresh, offline }, context) =>
    inShop(context, async (shop) => {
      const id = runIdOf(shop.store, word);
      const [summary] = await summariesOf(shop, [id], { ask: askOf({ fresh, offline }) });
      if (summary === undefined) return;
      const { run, attempts, isStale, lastSeen, ...rest } = summary;
      const lock = lockOf(run);
      const devLoss = shop.store.series(id, "dev/loss");
      const staleSince = isStale ? lastSeen : null;
      const mlflow = mirrorState(shop.store, id);
      context.print.result({ ...run, lock, attempts, devLoss, ...rest, staleSince, mlflow }, () => [
        runLine(run),
        ...pairLines(
          [...aboutRun(summary, context), ...settledPairs(shop, id), ...mlflowPairs(mlflow)],
          context.columns,
        ),
        "",
        ...attemptLines(attempts, context),
        ...budgetLines(summary.budgets, context),
        ...lossLines(shop, id, context),
      ]);
    }),
});

function aboutRun(
  { run, next, nextTryAt, lastSeen, isStale, warning, trouble }: RunSummary,
  context: Context,
): (readonly [string, string])[] {
  const lock = lockOf(run);
  return [
    ["next", context.typed(next)],
    ...(nextTryAt === null ? [] : [["next try", nextTryAt] as const]),
    ...(warning === null ? [] : [["warning", visibleForeign(warning)] as const]),
    ...(trouble === null || run.reason.includes(trouble) ? [] : [["trouble", trouble] as const]),
    ["kind", run.kind],
    ...(run.kind === "train" ? [["recipe", run.name] as const] : []),
    ["profile", `${lock.profileName} (${lock.job.profile.kind})`],
    ["folder", lock.job.runFolder],
    ...lock.forced.map((check) => ["forced", `started although ${visibleForeign(check)} (--force)`] as const),
    ["created", run.createdAt],
    ["last seen", `${lastSeen ?? run.lastSeenAt ?? "never"}${isStale ? " (stale)" : ""}`],
    ...(run.recipeDigest === null ? [] : [["recipe digest", run.recipeDigest] as const]),
    ...(run.parentId === null ? [] : [["belongs to", run.parentId] as const]),
  ];
}

function settledPairs(shop: Shop, id: string): (readonly [string, string])[] {
  return settlementsOf(shop, id).map(
    ({ at, as, because }) => ["settled", `by hand as ${as} at ${at}: ${visibleForeign(because)}`] as const,
  );
}

function mlflowPairs(mlflow: MirrorState | null): (readonly [string, string])[] {
  return mlflow === null ? [] : [["MLflow", `${mlflow.link} (${visibleForeign(mlflow.words)})`]];
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
    rows: attempts.map(({ number, startedAt, endedAt, reason, evidence }) => [
      String(number),
      startedAt,
      endedAt ?? "",
      reason ?? "open",
      endWords({ reason, evidence }) ?? "",
    ]),
  });
}

const BUDGET_WORDS: Readonly<Record<BudgetState["budget"], string>> = {
  preemption: "another job got the machine, or it was asked to save and stop",
  infra: "a machine failed, or was not fit",
  timeout: "the time limit came after new progress",
  capacity: "no machine was free or reachable",
};

const NEVER = "A program that fails by itself, or runs out of memory, is not started again without a person.";

// Each budget by itself: preemptions do not eat up what is meant for broken machines.
function budgetLines(budgets: readonly BudgetState[], context: Context): string[] {
  const amount = (number: number, { unit }: BudgetState): string =>
    unit === "days" ? `${number.toFixed(1)} days` : String(number);
  return [
    "",
    ...tableLines({
      title: context.print.style.bold,
      width: context.columns,
      columns: [
        { title: "retries for" },
        { title: "spent", align: "right" },
        { title: "allowed", align: "right" },
        { title: "left", align: "right" },
        { title: "when", below: true },
      ],
      rows: budgets.map((budget) => [
        budget.budget,
        amount(budget.spent, budget),
        amount(budget.allowed, budget),
        amount(Math.max(0, budget.allowed - budget.spent), budget),
        BUDGET_WORDS[budget.budget],
      ]),
    }),
    ...wrap(NEVER, context.columns),
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
