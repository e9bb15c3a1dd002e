import type { EndCause } from "../schema.ts";
import type { JobStatus } from "./training-jobs.ts";

/** What the service's words mean. Total: a word that is not in the tables is live or ended as its times say, `unknown`. */
export type Meaning =
  | { readonly phase: "live"; readonly state?: "queued" | "starting" | "running" | "stopping" }
  | { readonly phase: "ended"; readonly cause: EndCause | "stopped" };

type Live = Extract<Meaning, { phase: "live" }>["state"];

const PROGRESS: Readonly<Record<string, Live>> = {
  Pending: "queued",
  Starting: "starting",
  LaunchingMLInstances: "queued",
  PreparingTrainingStack: "starting",
  Downloading: "starting",
  DownloadingTrainingImage: "starting",
  Training: "running",
  Updating: "running",
  Uploading: "stopping",
  Stopping: "stopping",
  MaxRuntimeExceeded: "stopping",
  // Managed spot: waits for an instance, then begins again by itself.
  Interrupted: "queued",
  Restarting: "starting",
};

const STOPS: Readonly<Record<string, EndCause | "stopped">> = {
  MaxRuntimeExceeded: "walltime",
  MaxWaitTimeExceeded: "no_capacity",
  // By whom, the service does not say.
  Stopped: "stopped",
};

/** First match wins. `FailureReason` is text for people; its beginning is a class. */
const FAILURES: readonly (readonly [RegExp, EndCause])[] = [
  [/CapacityError|insufficient.{0,20}capacity|unable to provision requested/i, "no_capacity"],
  [/ResourceLimitExceeded/i, "no_capacity"],
  [/out of memory|OutOfMemory|more memory|\bOOM\b/i, "out_of_memory"],
  [/MaxWaitTime/i, "no_capacity"],
  [/InternalServerError|InternalError|internal server error/i, "node_fail"],
  [/instance.{0,40}(unhealthy|fault|terminated|retired)|health check|hardware|ECC error/i, "node_fail"],
  [/^AlgorithmError/i, "failed"],
  // Image, role, bucket or channel: refused before the container was started, see `not_started`.
  [/^ClientError/i, "failed"],
];

/** The meaning of a description. `stopped`: by somebody's request, to be told apart by who has left word of one. */
export const meaningOf = (
  status: Pick<JobStatus, "primary" | "secondary" | "failure" | "ended">,
): Meaning => {
  const { primary, secondary, failure, ended } = status;
  switch (primary) {
    case "InProgress":
      return live(PROGRESS[secondary]);
    case "Stopping":
      return live("stopping");
    case "Completed":
      return { phase: "ended", cause: STOPS[secondary] ?? "completed" };
    case "Failed":
      return { phase: "ended", cause: failureCause(failure) };
    case "Stopped":
      return { phase: "ended", cause: STOPS[secondary] ?? "unknown" };
    default:
      return ended ? { phase: "ended", cause: "unknown" } : live(undefined);
  }
};

/** The service's words, for people. */
export const statusText = ({ primary, secondary, failure, message }: Omit<JobStatus, "name">): string => {
  const words = [primary, secondary].filter((word, index, all) => word !== "" && all.indexOf(word) === index);
  const more = failure === "" ? message : failure;
  return `${words.join(", ") || "no state"}${more === "" ? "" : `: ${more.trim()}`}`;
};

/** Whether a failure says that the service never came to starting our program. */
export const isBeforeStart = (failure: string): boolean => /^ClientError/i.test(failure);

// A reason that nobody has seen, or none: that it failed is certain all the same. Its text is in the detail.
function failureCause(failure: string): EndCause {
  return FAILURES.find(([pattern]) => pattern.test(failure))?.[1] ?? "failed";
}

const live = (state: Live): Meaning => (state === undefined ? { phase: "live" } : { phase: "live", state });
