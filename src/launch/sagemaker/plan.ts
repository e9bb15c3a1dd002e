import type { CreateTrainingJobRequest } from "@aws-sdk/client-sagemaker";
import { InternalError } from "../../core/errors.ts";
import { isMarker } from "../marker.ts";
import type { AttemptContext, Job, Plan, PlannedFile } from "../schema.ts";
import { containerPaths, keyOf, type ContainerPaths } from "./container-paths.ts";
import { bucketKeys, TEMPLATE } from "./keys.ts";
import type { SageMakerProfile } from "./launcher.ts";
import { archiveOf, channelList, channelListText, SECRET_VARIABLE, trainingJobRequest } from "./request.ts";
import { templateText } from "./template.ts";

/** Pure: the objects that are written, what is uploaded, and the request. Paths of files are keys of the bucket. */
export const planSageMaker = (job: Job, attempt: AttemptContext, profile: SageMakerProfile): Plan => {
  if (!isMarker(attempt.marker)) {
    throw new InternalError("MARKER_INVALID", `"${attempt.marker}" cannot name a job on every launcher`);
  }
  const keys = bucketKeys(profile);
  const folder = keys.attempt(job.runId, attempt.number);
  const { request, template, paths } = requestFor(job, attempt, profile);
  const start = request.AlgorithmSpecification;
  const [program = "python3", ...args] = [
    ...(start?.ContainerEntrypoint ?? []),
    ...(start?.ContainerArguments ?? []),
  ];
  return {
    kind: "sagemaker",
    runId: job.runId,
    attempt,
    files: [
      { path: `${folder}/${TEMPLATE}`, mode: 0o644, text: template },
      ...channelLists(folder, profile, paths),
      { path: keys.fence(job.runId), mode: 0o644, text: `${attempt.token}\n` },
    ],
    argv: [program, ...args],
    cwd: folder,
    environment: environmentOf(job, profile),
    uploads: uploadsOf(job, profile),
    prepares: null,
    request: { ...request },
  };
};

/** The request with the provider's own type, and what it was made from. */
export const requestFor = (
  job: Job,
  attempt: AttemptContext,
  profile: SageMakerProfile,
): {
  readonly request: CreateTrainingJobRequest;
  readonly template: string;
  readonly paths: ContainerPaths;
} => {
  const paths = containerPaths(job, profile);
  const template = templateText(job, attempt, { profile, paths });
  const environment = Object.fromEntries(
    Object.entries(environmentOf(job, profile)).map(([name, value]) =>
      "secret" in value ? [SECRET_VARIABLE + name, profile.secrets[name] ?? ""] : [name, value.value],
    ),
  );
  const request = trainingJobRequest(profile, { job, attempt, paths, template, environment });
  return { request, template, paths };
};

function channelLists(
  folder: string,
  profile: SageMakerProfile,
  paths: ContainerPaths,
): readonly PlannedFile[] {
  return paths.channels().flatMap(({ name, key, only }) =>
    only === null
      ? []
      : [
          {
            path: channelList(folder, name),
            mode: 0o644,
            text: channelListText(profile.bucket, key, only),
          },
        ],
  );
}

// What lies on a filesystem cannot be written from here.
function uploadsOf(job: Job, profile: SageMakerProfile): Plan["uploads"] {
  return job.inputs
    .filter(({ role }) => (role === "payload" ? !profile.imageHasPayload : profile.input.from === "s3"))
    .map((input) => ({ ...input, path: keyOf(input.path, profile) }));
}

function environmentOf(job: Job, profile: SageMakerProfile): Plan["environment"] {
  const isSent = !profile.imageHasPayload && job.inputs.some(({ role }) => role === "payload");
  const isFolder = isSent && archiveOf(job) === undefined;
  return {
    HF_HUB_OFFLINE: { value: "1" },
    PYTHONUNBUFFERED: { value: "1" },
    ...(profile.threads === undefined ? {} : { OMP_NUM_THREADS: { value: String(profile.threads) } }),
    ...(isFolder ? { PYTHONPATH: { value: "/opt/ml/input/data/payload" } } : {}),
    ...Object.fromEntries(job.secrets.map((name) => [name, { secret: name }])),
  };
}
