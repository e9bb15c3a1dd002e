import { summariesOf, type RunSummary, type Shop } from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import type { Context } from "../../context.ts";
import { askOf, LOOK_OPTIONS } from "./look-options.ts";
import { inShop } from "../../shop.ts";
import { tableLines, type Column } from "../../table.ts";

export const runList = defineCommand({
  positionals: {},
  options: {
    all: { type: "boolean", describe: "Evaluation jobs too, not only training runs" },
    ...LOOK_OPTIONS,
  },
  json: true,
  details:
    "Looks at every run that has not ended, with one question to each cluster for all of its runs, and with none where this " +
    "project has asked it a moment ago (pollSeconds of the profile) or somebody watches. It starts nothing: whoever watches " +
    "(run watch, run logs -f, quickstart) does.",
  examples: ["understudy run list", "understudy run list --json --offline"],
  handler: async ({ all, fresh, offline }, context) =>
    inShop(context, async (shop) => {
      const kind = all ? {} : ({ kind: "train" } as const);
      const summaries = await summariesOf(shop, undefined, { ask: askOf({ fresh, offline }), ...kind });
      context.print.result(summaries.map(asJson), () =>
        summaries.length === 0
          ? [nothingYet(shop, all)]
          : tableLines({
              title: context.print.style.bold,
              width: context.columns,
              columns: columnsFor(context, all),
              rows: summaries.map((summary) => rowOf(summary, context, all)),
            }),
      );
    }),
});

function nothingYet(shop: Shop, all: boolean): string {
  const others = !all && shop.store.runNames().length > 0;
  return others
    ? "no training runs, only jobs that belong to some: understudy run list --all"
    : "no runs yet; start one: understudy run start recipes/quickstart.yaml";
}

// For programs and people alike; the lock is long, and `run show` has it.
function asJson({ run, attempts, lastSeen, isStale, ...rest }: RunSummary): Record<string, unknown> {
  const staleSince = isStale ? lastSeen : null;
  return { ...run, lock: undefined, ...rest, staleSince, attempts: attempts.length };
}

// In a pipe a line is for a program or a search: what a person would do next is left to `run show`.
const isPiped = ({ columns }: Context): boolean => columns === Infinity;

const MOST_REASON = 80;

function columnsFor(context: Context, all: boolean): readonly Column[] {
  const base: readonly Column[] = [
    { title: "run" },
    ...(all ? [{ title: "kind" }] : []),
    { title: "state" },
    { title: "attempts", align: "right" },
  ];
  if (isPiped(context)) return [...base, { title: "last seen" }, { title: "reason", most: MOST_REASON }];
  return [
    ...base,
    ...(all ? [] : [{ title: "recipe", most: 30 }]),
    { title: "reason", below: true },
    { title: "next", below: true },
  ];
}

function rowOf(
  { run, attempts, next, lastSeen, isStale, trouble }: RunSummary,
  context: Context,
  all: boolean,
): string[] {
  const state = isStale ? `${run.state} (stale)` : run.state;
  const base = [run.id, ...(all ? [run.kind] : []), state, String(attempts.length)];
  if (isPiped(context)) return [...base, lastSeen ?? "-", trouble ?? run.reason];
  const isSaid = trouble === null || run.reason.includes(trouble);
  const then = isSaid ? next : `it could not be looked at: ${trouble}`;
  return [...base, ...(all ? [] : [run.name]), run.reason, context.typed(then)];
}
