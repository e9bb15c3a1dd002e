import { UserError } from "../../core/errors.ts";
import type { OpenWorld } from "../launchers.ts";
import type { Launcher } from "../launcher.ts";
import type { ProfileOf } from "../profile.ts";
import type { JobRef, RefOf } from "../schema.ts";
import { bucketArtifacts } from "./artifacts.ts";
import { openAws, type Aws } from "./aws.ts";
import { openBucket } from "./bucket.ts";
import { cancelSageMaker } from "./cancel.ts";
import type { Desk } from "./desk.ts";
import { findSageMaker } from "./find.ts";
import { attemptOfKey } from "./keys.ts";
import { logStreams } from "./log-streams.ts";
import { readLogs } from "./logs.ts";
import { observer } from "./observe.ts";
import { paced } from "./pace.ts";
import { planSageMaker } from "./plan.ts";
import { preflightSageMaker, probeSageMaker } from "./preflight.ts";
import { submitSageMaker } from "./submit.ts";
import { trainingJobs } from "./training-jobs.ts";
import { validateSageMaker } from "./validate.ts";

export type SageMakerProfile = ProfileOf<"sagemaker">;

/** Runs jobs as SageMaker training jobs. Nothing is asked of the provider, and none of its code loaded, before it is needed. */
export const sagemakerLauncher = (profile: SageMakerProfile, world: OpenWorld): Launcher => {
  const { clock, environment } = world;
  const aws = openAws(profile, environment);
  const deskWith = (clients: Aws): Desk => ({
    profile,
    aws: clients,
    clock,
    signal: world.signal,
    jobs: trainingJobs(clients, paced(clock)),
    bucket: openBucket(clients, profile.bucket, profile.kmsKey ?? null),
  });
  const desk = deskWith(aws);
  const logs = { ...desk, streams: logStreams(aws, paced(clock)), pollSeconds: profile.pollSeconds };
  const watched = observer(desk);
  return {
    kind: "sagemaker",
    validate: (job) => validateSageMaker(job, profile),
    plan: (job, attempt) => planSageMaker(job, attempt, profile),
    probe: async () => {
      const clients = openAws(profile, environment, { once: true });
      try {
        return await probeSageMaker(deskWith(clients));
      } finally {
        await clients.close();
      }
    },
    preflight: async (job) => preflightSageMaker(job, desk),
    submit: async (plan) => submitSageMaker(plan, desk),
    find: async (plan) => findSageMaker(plan, desk),
    observe: async (refs) => watched.observe(refs),
    logs: (ref, cursor, options) => readLogs(own(ref), cursor, options, logs),
    artifacts: (ref) => bucketArtifacts(attemptOfKey(ref.folder).run, desk),
    cancel: async (ref) => {
      const answer = await cancelSageMaker(own(ref), desk);
      watched.forget(own(ref).job);
      return answer;
    },
    close: async () => aws.close(),
  };
};

function own(ref: JobRef): RefOf<"sagemaker"> {
  if (ref.kind === "sagemaker") return ref;
  throw new UserError("REF_KIND", `${ref.marker} is a job of ${ref.kind}, not of SageMaker`);
}
