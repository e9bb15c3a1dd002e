import { RemoteError } from "../../../core/errors.ts";
import type { Run } from "../../../track/index.ts";
import { summariesOf, type Shop } from "../../../workflow/index.ts";
import { EXIT, type ExitCode } from "../../exit-codes.ts";

/** The run, unless its job was refused for good: RemoteError `RUN_REJECTED`, so that no script takes it for started. */
export const accepted = (run: Run): Run => {
  if (run.state !== "failed") return run;
  throw new RemoteError("RUN_REJECTED", `Run ${run.id} was not started: ${run.reason}`, {
    hint: `mend what it names, then: understudy run resume ${run.id}`,
  });
};

// Nothing was accepted yet, or nobody knows, and nothing comes of it by itself.
const isUntaken = ({ state }: Pick<Run, "state">): boolean => state === "waiting" || state === "ambiguous";

/** What a command that sent a run ends with: no script takes one for started that no machine has taken. */
export const startExit = (run: Run): ExitCode => (isUntaken(run) ? EXIT.remote : EXIT.ok);

/** What to do next about a run that was sent, in a line. */
export const nextLine = async (shop: Shop, run: Run): Promise<string> => {
  const words = isUntaken(run) ? (await summariesOf(shop, [run.id], { ask: "never" }))[0]?.next : undefined;
  return `next: ${words ?? `understudy run logs ${run.id} -f`}`;
};
