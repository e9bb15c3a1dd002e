import type { Project } from "../core/project.ts";
import { TERMINAL_STATES } from "../track/index.ts";
import { withShop, type OnProgress, type Shop } from "../workflow/index.ts";
import type { Context } from "./context.ts";
import { progressPrinter } from "./progress.ts";

/** Runs a command's work with the project's store open; progress goes to the terminal. */
export const inShop = async <Result>(
  context: Context,
  work: (shop: Shop) => Promise<Result>,
  options: { readonly onProgress?: OnProgress; readonly project?: Project } = {},
): Promise<Result> => {
  try {
    return await withShop(
      {
        project: options.project ?? (await context.project()),
        clock: context.clock,
        fetch: context.fetch,
        environment: context.environment,
        signal: context.signal,
        onProgress: options.onProgress ?? progressPrinter(context),
      },
      async (shop) => {
        try {
          return await work(shop);
        } catch (error) {
          if (context.signal.aborted) tellLive(shop, context);
          throw error;
        }
      },
    );
  } finally {
    context.print.progress("");
  }
};

// Ctrl-C ends this command, never the jobs: who thinks that they stopped would find them on the GPU tomorrow.
function tellLive(shop: Shop, { print }: Pick<Context, "print">): void {
  for (const { id, state } of shop.store.listRuns()) {
    if (TERMINAL_STATES.includes(state)) continue;
    print.warn(
      `run ${id} goes on by itself; watch it: understudy run logs ${id} -f; stop it: understudy run stop ${id}`,
    );
  }
}
