import type { Run } from "../../../track/index.ts";
import {
  runIdOf,
  summariesOf,
  watchRuns,
  type RunLook,
  type Shop,
  type WatchEnd,
  type WatchPass,
} from "../../../workflow/index.ts";
import { defineCommand } from "../../command.ts";
import type { Context } from "../../context.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";
import { secondsText } from "../../quantities.ts";
import { runLine } from "../../run-line.ts";
import { inShop } from "../../shop.ts";
import { padded } from "../../table.ts";
import { visibleForeign } from "../../visible.ts";

export const runWatch = defineCommand({
  positionals: {
    run: {
      describe: "Run ids, or their beginnings. Default: every run that has not ended",
      optional: true,
      many: true,
      complete: "run",
    },
  },
  options: {
    once: { type: "boolean", describe: "One look at each run and what follows from it, then end" },
    stay: { type: "boolean", describe: "Go on when no run is left, for runs that start later" },
  },
  json: true,
  details:
    "Submits what was planned, resumes what was preempted or lost its machine, and records how runs end. Asks each launcher " +
    "once for all of its runs. It may be ended and started again at any time, and several may run at once: no run is started " +
    "twice. --once also tries at once what waits to be sent again. Ends with 0 when all runs have succeeded or were stopped " +
    "on request, with 4 when one has not, or with --once when one could not be looked at.",
  examples: ["understudy run watch --once", "understudy run watch --stay"],
  handler: async ({ run: typed, once, stay }, context) =>
    inShop(context, async (shop) => {
      const runs = typed.map((word) => runIdOf(shop.store, word));
      const tell = teller(context);
      const end = await watchRuns(shop, {
        ...(runs.length === 0 ? {} : { runs }),
        once,
        stay,
        onPass: (pass) => tell(pass, shop.clock.now()),
      });
      context.print.progress("");
      const listed = (words: ReadonlyMap<string, string>): { run: string; message: string }[] =>
        [...words].map(([run, message]) => ({ run, message }));
      const ended = end.runs.map((run) => ({ ...run, lock: undefined }));
      const next = await nextWords(shop, end.runs);
      context.print.result({ runs: ended, troubles: listed(end.troubles), unseen: listed(end.unseen) }, () =>
        end.runs.length === 0
          ? ["no run is left to be watched"]
          : end.runs.flatMap((run) => [runLine(run), ...(next.get(run.id) ?? [])]),
      );
      return exitCode(end, once);
    }),
});

// What no machine and no watcher settles by itself.
const OPEN = new Set<Run["state"]>(["waiting", "ambiguous", "lost"]);

async function nextWords(shop: Shop, runs: readonly Run[]): Promise<ReadonlyMap<string, string[]>> {
  const open = runs.filter(({ state }) => OPEN.has(state)).map(({ id }) => id);
  const summaries = await summariesOf(shop, open, { ask: "never" });
  return new Map(summaries.map(({ run, next }) => [run.id, [`  next: ${next}`]]));
}

/** Prints a line for each run that changed, or that something is wrong with; what goes on stands in the moving line. */
function teller(context: Context): (pass: WatchPass, now: number) => void {
  const told = new Map<string, string>();
  return ({ looks, live, silent, wait }, now) => {
    const width = Math.max(0, ...looks.map(({ id }) => id.length));
    for (const look of looks) {
      const words = wordsOf(look);
      if (told.get(look.id) === words) continue;
      told.set(look.id, words);
      context.print.line(`${timeText(now)}  ${padded(look.id, width)}  ${words}`);
    }
    const blind = silent.map(
      ({ label, nextAt }) => `; ${label} is silent, asked again in ${secondsText((nextAt - now) / 1000)}`,
    );
    const runs = live === 1 ? "1 run goes on" : `${live} runs go on`;
    context.print.progress(`  ${runs}; next look in ${secondsText(wait / 1000)}${blind.join("")}`, {
      passing: true,
    });
  };
}

function wordsOf({ state, reason, unavailable, trouble }: RunLook): string {
  const isSaid = unavailable !== null && reason.includes(unavailable);
  const why = isSaid ? "" : `: ${unavailable}`;
  const seen = unavailable === null ? "" : ` (cannot be looked at${why})`;
  const wrong = trouble === null ? "" : ` (trouble: ${trouble})`;
  return visibleForeign(`${padded(state, LONGEST_STATE)}  ${reason}${seen}${wrong}`);
}

const LONGEST_STATE = "submitting".length;

const timeText = (now: number): string => new Date(now).toISOString().slice(11, 19);

function exitCode({ runs, troubles, unseen }: WatchEnd, once: boolean): ExitCode {
  const isWell = once
    ? troubles.size + unseen.size === 0
    : runs.every(
        ({ state, stopRequested }) => state === "succeeded" || (state === "cancelled" && stopRequested),
      );
  return isWell ? EXIT.ok : EXIT.remote;
}
