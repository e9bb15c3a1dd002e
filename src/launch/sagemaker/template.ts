import { lockNames } from "../prepare-python.ts";
import type { AttemptContext, Job } from "../schema.ts";
import { CPU_INDEX } from "../torch-wheel.ts";
import { bucketKeys } from "./keys.ts";
import type { ContainerPaths } from "./container-paths.ts";
import type { SageMakerProfile } from "./launcher.ts";

/**
 * What the adapter in the container reads: the manifest without `attempt` and `paths`, which it fills in for the attempt it
 * finds itself to be (a spot restart begins the next one), and how to run it.
 */
export const templateText = (
  job: Job,
  attempt: AttemptContext,
  { profile, paths }: { readonly profile: SageMakerProfile; readonly paths: ContainerPaths },
): string => {
  const template = {
    schemaVersion: 1,
    run: job.runId,
    job: attempt.marker,
    attempt: { number: attempt.number, token: attempt.token },
    kind: job.kind,
    processes: job.kind === "train" ? profile.processes : 1,
    diskBytes: Math.ceil(job.diskBytes),
    // The service itself kills a container 120 seconds after it has asked it to stop.
    graceSeconds: profile.graceSeconds,
    // Installed from the payload's own folder, where it has them.
    locks: profile.imageHasPayload ? [] : lockNames(profile.device === "cpu" ? "cpu" : "cuda"),
    // The plain build for the CPU is not where pip looks by itself.
    ...(profile.device === "cpu" && !profile.imageHasPayload ? { torchIndex: CPU_INDEX } : {}),
    region: profile.region,
    fence: { bucket: profile.bucket, key: bucketKeys(profile).fence(job.runId) },
    manifest: mapped(job.manifest, paths.inside),
  };
  return `${JSON.stringify(template, null, 2)}\n`;
};

/** A manifest with every path in it as the container sees it. */
export const mapped = (value: unknown, inside: (path: string) => string): unknown => {
  if (typeof value === "string") return value.includes("/") ? inside(value) : value;
  if (Array.isArray(value)) return value.map((entry) => mapped(entry, inside));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, mapped(inner, inside)]));
};
