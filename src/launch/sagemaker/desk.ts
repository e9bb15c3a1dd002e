import type { Clock } from "../../core/clock.ts";
import type { Aws } from "./aws.ts";
import type { Bucket } from "./bucket.ts";
import type { SageMakerProfile } from "./launcher.ts";
import type { TrainingJobs } from "./training-jobs.ts";

/** What the parts of this launcher share. */
export interface Desk {
  readonly profile: SageMakerProfile;
  readonly aws: Aws;
  readonly jobs: TrainingJobs;
  readonly bucket: Bucket;
  readonly clock: Clock;
  /** Ends what is sent before there is a job. */
  readonly signal?: AbortSignal | undefined;
}
