import type { PositionalSpec } from "../../command.ts";

/** The positional of commands about one run. */
export const RUN = {
  describe: "Run id; its beginning is enough where no other run has it",
  complete: "run",
} as const satisfies PositionalSpec;
