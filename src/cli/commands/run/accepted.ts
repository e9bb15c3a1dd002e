import { RemoteError } from "../../../core/errors.ts";
import type { Run } from "../../../track/index.ts";

/** The run, unless its job was refused for good: RemoteError `RUN_REJECTED`, so that no script takes it for started. */
export const accepted = (run: Run): Run => {
  if (run.state !== "failed") return run;
  throw new RemoteError("RUN_REJECTED", `Run ${run.id} was not started: ${run.reason}`, {
    hint: `mend what it names, then: understudy run resume ${run.id}`,
  });
};
