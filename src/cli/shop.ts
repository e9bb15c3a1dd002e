import type { Project } from "../core/project.ts";
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
        environment: context.environment,
        signal: context.signal,
        onProgress: options.onProgress ?? progressPrinter(context),
      },
      work,
    );
  } finally {
    context.print.progress("");
  }
};
