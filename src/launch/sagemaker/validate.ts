import { isMarker, markerOf } from "../marker.ts";
import type { Job, LaunchProblem } from "../schema.ts";
import { validateJob } from "../validate-job.ts";
import { containerPaths } from "./container-paths.ts";
import type { SageMakerProfile } from "./launcher.ts";
import { limitProblems } from "./limits.ts";
import { requestFor } from "./plan.ts";
import { mapped } from "./template.ts";

/** The service kills a container that long after it has asked it to stop. */
const LONGEST_GRACE = 120;

/** Offline: everything that the service, or the job in its container, would refuse. All problems at once. */
export const validateSageMaker = (job: Job, profile: SageMakerProfile): readonly LaunchProblem[] => [
  ...validateJob(inContainer(job, profile), profile.processes * profile.instances),
  ...requestProblems(job, profile),
  ...profileProblems(profile),
  ...secretProblems(job, profile),
  ...payloadProblems(job, profile),
];

// A program's name is looked up in the image, and keys of the bucket become folders; other paths are absolute as everywhere.
function inContainer(job: Job, profile: SageMakerProfile): Job {
  const { inside } = containerPaths(job, profile);
  return {
    ...job,
    python: job.python.includes("/") ? job.python : `/usr/bin/${job.python}`,
    manifest: Object.fromEntries(
      Object.entries(job.manifest).map(([key, value]) => [key, mapped(value, inside)]),
    ),
  };
}

function requestProblems(job: Job, profile: SageMakerProfile): readonly LaunchProblem[] {
  const problems: LaunchProblem[] = [];
  // That of the evaluation too: it would be refused hours later.
  for (const type of [profile.instanceType, profile.evaluation?.instanceType ?? profile.instanceType]) {
    if (/^ml\.[a-z0-9-]+\.[a-z0-9]+$/.test(type) || problems.some(({ message }) => message.includes(type)))
      continue;
    problems.push({
      code: "INSTANCE_TYPE_INVALID",
      message: `"${type}" is no instance type of SageMaker`,
      hint: "such as ml.p5.48xlarge",
    });
  }
  const marker = markerOf(job.runId, 1);
  if (problems.length > 0 || !isMarker(marker)) return problems;
  // The requests of all attempts differ by a few digits only.
  return limitProblems(requestFor(job, { number: 1, marker, token: "0" }, profile).request);
}

function profileProblems(profile: SageMakerProfile): readonly LaunchProblem[] {
  const problems: LaunchProblem[] = [];
  const add = (code: string, message: string, hint: string): unknown =>
    problems.push({ code, message, hint });
  if (profile.graceSeconds > LONGEST_GRACE)
    add(
      "GRACE_TOO_LONG",
      `graceSeconds is ${profile.graceSeconds}, but SageMaker kills a container ${LONGEST_GRACE} seconds after it has asked it to stop`,
      `set graceSeconds to ${LONGEST_GRACE} or less; a checkpoint that takes longer to save is only made at its interval`,
    );
  if (profile.subnets.length > 0 !== profile.securityGroups.length > 0)
    add(
      "VPC_INCOMPLETE",
      "A VPC needs subnets and securityGroups, or neither",
      "give both, or leave both out",
    );
  if (profile.input.from === "fsx") {
    if (profile.subnets.length === 0)
      add(
        "FSX_NEEDS_VPC",
        "A file system is only reached from inside its VPC",
        "give subnets and securityGroups",
      );
    if (!profile.input.directoryPath.startsWith("/"))
      add(
        "FSX_PATH_INVALID",
        `directoryPath "${profile.input.directoryPath}" must start with /`,
        "such as /fsx/understudy",
      );
  }
  if (profile.trainingPlan !== undefined && profile.spot !== undefined)
    add(
      "PLAN_AND_SPOT",
      "A training plan is reserved capacity: it cannot be spot as well",
      "leave one of them out",
    );
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(profile.bucket))
    add(
      "BUCKET_INVALID",
      `"${profile.bucket}" cannot be a bucket's name`,
      "the name alone, without s3:// and without a key",
    );
  return problems;
}

function secretProblems(job: Job, profile: SageMakerProfile): readonly LaunchProblem[] {
  return job.secrets
    .filter((name) => profile.secrets[name] === undefined)
    .map((name) => ({
      code: "SECRET_UNMAPPED",
      message: `The job needs the secret ${name}, and the profile names no ARN for it`,
      hint: `put it into Secrets Manager and its ARN below secrets.${name}: values never travel`,
    }));
}

function payloadProblems(job: Job, profile: SageMakerProfile): readonly LaunchProblem[] {
  if (profile.imageHasPayload || job.inputs.some(({ role }) => role === "payload")) return [];
  return [
    {
      code: "PAYLOAD_UNSENT",
      message: "The image holds no payload, and none is sent along",
      hint: "set imageHasPayload for an image of your own that has it",
    },
  ];
}
