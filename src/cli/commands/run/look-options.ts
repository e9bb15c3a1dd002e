import { UserError } from "../../../core/errors.ts";
import type { Ask } from "../../../workflow/index.ts";
import type { OptionSpec } from "../../command.ts";

/** How much the machines are asked before a command tells what is true of runs. */
export const LOOK_OPTIONS = {
  fresh: { type: "boolean", describe: "Ask the cluster now, even if it was asked a moment ago" },
  offline: { type: "boolean", describe: "Ask no machine: tell what is recorded" },
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** UserError `USAGE` for both at once. */
export const askOf = ({ fresh, offline }: { readonly fresh: boolean; readonly offline: boolean }): Ask => {
  if (fresh && offline) {
    throw new UserError("USAGE", "--fresh asks the machines and --offline does not", {
      hint: "give one of them",
    });
  }
  if (offline) return "never";
  return fresh ? "now" : "due";
};
