import type { FarProfile } from "../profile.ts";
import type { Job, JobInput } from "../schema.ts";
import { sizeText, type DiskNeed } from "./disk-checks.ts";
import type { InputsFound } from "./inputs.ts";

// Of an environment and its build. For the CPU by measurement (1.4 GB, 35,000 files); for CUDA the sum of its libraries and of their
// wheels while they unpack.
const ENVIRONMENT = { cpu: { bytes: 2e9, files: 40_000 }, cuda: { bytes: 12e9, files: 45_000 } } as const;
const FILES_PER_CHECKPOINT = 40;
const FILES_PER_RUN = 200;

/** What a job is going to write on a far machine: its run, the inputs that are not there yet, and its environment. */
export const diskNeeds = (
  job: Job,
  { paths }: FarProfile,
  found: { readonly inputs: InputsFound; readonly environment: boolean },
): readonly DiskNeed[] => {
  const saved = checkpoints(job);
  const { environment } = job;
  const made =
    environment === null || found.environment ? [] : [environmentNeed(paths.env, environment.device)];
  const absent = job.inputs.filter(
    (input) =>
      found.inputs.missing.includes(input) || found.inputs.wrongSize.some((one) => one.input === input),
  );
  return [
    {
      folder: paths.runs,
      bytes: Math.ceil(job.diskBytes),
      files: FILES_PER_RUN + (saved ?? 0) * FILES_PER_CHECKPOINT,
      text: runText(job.diskBytes, saved),
    },
    ...inputNeed(paths.data, "data", absent),
    ...inputNeed(paths.models, "model", absent),
    ...made,
  ];
};

// The planned saves of a training run; every one may be kept.
function checkpoints(job: Job): number | null {
  const training = job.manifest["training"];
  if (typeof training !== "object" || training === null) return null;
  const steps = "steps" in training ? Number(training.steps) : Number.NaN;
  const every = "saveEverySteps" in training ? Number(training.saveEverySteps) : Number.NaN;
  const count = Math.ceil(steps / every);
  return Number.isFinite(count) && count > 0 ? count : null;
}

function runText(bytes: number, saved: number | null): string {
  return saved === null || saved === 1
    ? `${sizeText(bytes)} for the run`
    : `${saved} checkpoints × ${sizeText(Math.round(bytes / saved))}`;
}

/** Of a Python environment that is not made yet, below `folder`. */
export const environmentNeed = (folder: string, device: keyof typeof ENVIRONMENT): DiskNeed => {
  const { bytes, files } = ENVIRONMENT[device];
  return { folder, bytes, files, text: `about ${sizeText(bytes)} for the Python environment` };
};

function inputNeed(folder: string, role: JobInput["role"], absent: readonly JobInput[]): readonly DiskNeed[] {
  const own = absent.filter((input) => input.role === role);
  if (own.length === 0) return [];
  const bytes = own.reduce((sum, input) => sum + input.bytes, 0);
  return [
    {
      folder,
      bytes,
      files: own.length,
      text: `${sizeText(bytes)} for ${own.length} ${own.length === 1 ? "file" : "files"} of the ${role}`,
    },
  ];
}
