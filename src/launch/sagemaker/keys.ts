import type { SageMakerProfile } from "./launcher.ts";

/**
 * Keys of the bucket. Everything of a run lies below `runs/RUN/`, which the service copies to and from
 * `/opt/ml/checkpoints`: named by run, so that the next job of the run finds what the last one saved. What only the
 * control plane may write lies outside of it: a container that is being replaced still copies its folder back.
 */
export interface BucketKeys {
  readonly run: (runId: string) => string;
  readonly attempt: (runId: string, number: number) => string;
  /** Token of the attempt that may write. */
  readonly fence: (runId: string) => string;
  /** Its presence says that a stop of this job was asked for by us. */
  readonly cancel: (job: string) => string;
  /** Where the service puts its own archive of `/opt/ml/model`. */
  readonly archive: (runId: string) => string;
  readonly probe: (name: string) => string;
}

/** Keys below the profile's prefix. */
export const bucketKeys = (profile: Pick<SageMakerProfile, "prefix">): BucketKeys => {
  const prefix = profile.prefix.replace(/^\/+|\/+$/g, "");
  const below = (...parts: readonly string[]): string =>
    (prefix === "" ? parts : [prefix, ...parts]).join("/");
  return {
    run: (runId) => below("runs", runId),
    attempt: (runId, number) => below("runs", runId, "attempts", String(number)),
    fence: (runId) => below("control", "fences", runId),
    cancel: (job) => below("control", "cancelled", job),
    archive: (runId) => below("archives", runId),
    probe: (name) => below("tmp", name),
  };
};

/** Run folder and number of an attempt's key, e.g. `understudy/runs/RUN/attempts/2`. */
export const attemptOfKey = (folder: string): { readonly run: string; readonly number: number } => {
  const [, run = folder, number = "1"] = /^(.*)\/attempts\/(\d+)$/.exec(folder) ?? [];
  return { run, number: Number(number) };
};

/** The marker of another attempt of the same run. */
export const siblingMarker = (marker: string, number: number): string =>
  marker.replace(/-a\d+$/, `-a${number}`);

/** What the control plane sends, and the adapter makes job.json of every attempt from. */
export const TEMPLATE = "job.template.json";
