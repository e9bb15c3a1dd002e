import { RemoteError } from "../../core/errors.ts";
import type { ExecOutcome } from "./transport.ts";

const STDERR_SHOWN = 2000;

/**
 * Standard output of a command that had to succeed. `what` completes "Could not …". RemoteError `TRANSPORT_…` (the transport's
 * own code) when it was not carried out, `FAR_COMMAND_FAILED` when it was and said no.
 */
export const must = (outcome: ExecOutcome, what: string): Buffer => {
  if (outcome.kind === "exited" && outcome.code === 0) return outcome.stdout;
  throw failureOf(outcome, what);
};

/** The same error, for callers that know some exit codes. */
export const failureOf = (outcome: ExecOutcome, what: string): RemoteError => {
  if (outcome.kind === "transport-error") {
    const { code, reason, hint } = outcome;
    return new RemoteError(
      `TRANSPORT_${code}`,
      `Could not ${what}: ${reason}`,
      hint === undefined ? {} : { hint },
    );
  }
  const end = outcome.kind === "exited" ? `exit code ${outcome.code}` : `ended by ${outcome.signal}`;
  const said = outcome.stderr.trim().slice(-STDERR_SHOWN);
  return new RemoteError(
    "FAR_COMMAND_FAILED",
    `Could not ${what}: ${said === "" ? end : `${said} (${end})`}`,
  );
};
