import { z } from "zod";
import { machine } from "./profile-machine.ts";
import { SageMakerProfile } from "./profile-sagemaker.ts";
import {
  SlurmGres,
  SlurmMemory,
  SlurmNode,
  SlurmOption,
  SlurmTime,
  SlurmWord,
} from "./profile-slurm-words.ts";

export const LocalProfile = z.strictObject({
  ...machine,
  kind: z.literal("local"),
  python: z
    .string()
    .optional()
    .describe(
      "Python 3.10 or newer for the payload's environment. Default: the first fitting python3 on PATH",
    ),
  processes: z
    .int()
    .positive()
    .default(1)
    .describe("Training processes on this machine: one per GPU, or 1 on a CPU"),
});

const FarPath = z
  .string()
  .regex(/^\/[^\0\n]*$/, "must be an absolute path on one line")
  .describe("Absolute path on the machine that runs the job");

const FarPaths = z
  .strictObject({
    data: FarPath.describe("Shards, kept under their SHA-256; shared by all runs"),
    models: FarPath.describe("Model weights, one folder for each pinned revision; shared by all runs"),
    env: FarPath.describe("Python environments, one for each lock digest; shared by all runs"),
    runs: FarPath.describe("One folder for each run: checkpoints, logs, events"),
    tmp: FarPath.default("/tmp").describe("Scratch of a job, on a disk of the node where there is one"),
  })
  .describe("Where things lie on the machine that runs the job");

const Container = z.discriminatedUnion("engine", [
  z.strictObject({
    engine: z.literal("apptainer"),
    image: z.string().describe("A .sif file on the far side, or docker://… with a digest"),
    binds: z.array(z.string()).default([]).describe("More folders to bind, e.g. /scratch"),
  }),
  z.strictObject({
    engine: z.literal("pyxis"),
    image: z.string().describe("For srun --container-image (Slurm with pyxis/enroot)"),
    mounts: z.array(z.string()).default([]).describe("More mounts, as SOURCE:TARGET"),
  }),
  z.strictObject({
    engine: z.literal("docker"),
    image: z.string().describe("Image with its digest, e.g. registry/name@sha256:…"),
    mounts: z.array(z.string()).default([]).describe("More mounts, as SOURCE:TARGET"),
  }),
]);
export type Container = z.infer<typeof Container>;

const StageWay = z
  .enum(["existing", "upload", "node-download", "image", "s3"])
  .describe(
    "existing: is there already and is matched; upload: sent from here; node-download: fetched by the node from the model hub; image: inside the container; s3: fetched by the node from a bucket",
  );

const S3Folder = z
  .string()
  .regex(
    /^s3:\/\/[a-z0-9][a-z0-9.-]*(\/[^/\0\n]+)*$/,
    "must be an address such as s3://bucket/folder, without a slash at its end",
  );

const S3Source = z
  .strictObject({
    models: S3Folder.optional().describe(
      "Has a folder for each revision, named like Qwen--Qwen2.5-Omni-7B@COMMIT. For stage.model: s3",
    ),
    data: S3Folder.optional().describe(
      "Has a folder for each data set, named like it, with the files as they are packed. For stage.data: s3",
    ),
    region: z.string().optional().describe("Default: as the machine that runs the job is set up"),
    endpoint: z
      .string()
      .regex(/^https?:\/\/[^@\s]+$/, "must be an address such as https://store.example, without a password")
      .optional()
      .describe("Of a store that is not Amazon's"),
  })
  .describe("Where the machine that runs the job fetches from, with its own credentials; none are sent");

/** Of every machine that is not this one. */
const far = {
  ...machine,
  paths: FarPaths,
  setup: z
    .array(z.string())
    .default([])
    .describe("Lines of POSIX shell run before the job, e.g. module load cuda/12.8"),
  container: Container.optional().describe(
    "Runs the payload inside an image instead of a Python environment",
  ),
  python: z
    .string()
    .default("python3")
    .describe("Interpreter from which the payload's environment is made, 3.10 or newer"),
  wheelhouse: FarPath.optional().describe(
    "Folder of wheels for machines without internet: it must match the far Python and glibc",
  ),
  umask: z
    .string()
    .regex(/^0?[0-7]{3}$/)
    .default("0022")
    .describe("For everything made in shared folders"),
  group: z.string().optional().describe("Unix group of shared caches"),
  stage: z
    .strictObject({ model: StageWay.default("upload"), data: StageWay.default("upload") })
    .default({ model: "upload", data: "upload" }),
  s3: S3Source.optional(),
  processes: z
    .int()
    .positive()
    .optional()
    .describe("Training processes on each machine: one per GPU. Default: 8, with device cpu 1"),
  purgeDays: z
    .int()
    .positive()
    .optional()
    .describe("The site deletes files that old; a warning tells when a run would live longer"),
};

// Written out of line, as it follows from another key.
const withProcesses = <Profile extends { readonly device: string; readonly processes?: number | undefined }>(
  profile: Profile,
): Profile & { processes: number } => ({
  ...profile,
  processes: profile.processes ?? (profile.device === "cpu" ? 1 : 8),
});

/** How to reach a machine over SSH. Everything not said here comes from ssh_config. */
export const SshEndpoint = z.strictObject({
  host: z.string().min(1).describe("Name or alias of ssh_config, or user@name"),
  user: z.string().optional(),
  port: z.int().min(1).max(65535).optional(),
  identityFile: z.string().optional().describe("Private key; default: ssh_config, then the agent"),
  jump: z
    .array(z.string())
    .default([])
    .describe("Hosts to jump through, first one first, as [user@]host[:port]"),
});
export type SshEndpoint = z.infer<typeof SshEndpoint>;

const ssh = {
  transport: z
    .enum(["auto", "ssh2", "openssh"])
    .default("auto")
    .describe("auto: the library, or the ssh program where ssh_config asks for what only that can do"),
  sshConfig: z.string().optional().describe("Default: ~/.ssh/config"),
  knownHosts: z
    .string()
    .optional()
    .describe("Default: ~/.ssh/known_hosts. A host that is not in it is refused"),
  deadlineSeconds: z.int().positive().default(30).describe("For one short command on the far side"),
};
export const SshAccess = z.strictObject(ssh);
export type SshAccess = z.infer<typeof SshAccess>;

const SshProfile = z.strictObject({
  ...far,
  ...ssh,
  kind: z.literal("ssh"),
  hosts: z.array(SshEndpoint).min(1).describe("A run gets the first of them whose GPUs can be locked"),
  maxHeldMebibytes: z
    .int()
    .nonnegative()
    .default(1024)
    .describe("GPU memory that others may hold for a GPU to count as free"),
  jobsPerHost: z
    .int()
    .positive()
    .optional()
    .describe("Jobs at once on one host. Default: as many as its free GPUs allow; on a CPU without limit"),
});

const SlurmProfile = z.strictObject({
  ...far,
  ...ssh,
  kind: z.literal("slurm"),
  login: SshEndpoint.optional().describe(
    "Login node. Without it the Slurm commands of this machine are used",
  ),
  account: SlurmWord.optional(),
  partition: SlurmWord.optional(),
  qos: SlurmWord.optional(),
  gres: SlurmGres.optional().describe("Default: gpu:PROCESSES. With device cpu: nothing"),
  constraint: SlurmWord.optional(),
  reservation: SlurmWord.optional(),
  exclude: z.array(SlurmNode).default([]).describe("Nodes never to use"),
  nodes: z.int().positive().default(1),
  cpusPerTask: z.int().positive().optional(),
  memory: SlurmMemory.optional().describe("--mem, e.g. 900G; 0 for all of the node"),
  time: SlurmTime.describe("Wall-clock limit of one job, e.g. 12:00:00"),
  chain: z
    .int()
    .min(1)
    .max(50)
    .default(1)
    .describe(
      "Jobs submitted at once, one after the other: a run longer than the limit goes on with nobody watching",
    ),
  requeue: z
    .boolean()
    .default(true)
    .describe("Whether Slurm may start the same job again after preemption or a node failure"),
  signalSeconds: z
    .int()
    .positive()
    .max(65_535)
    .default(300)
    .describe(
      "How long before the limit the job is asked to save and stop; Slurm may ask up to 60 s earlier",
    ),
  extra: z.array(SlurmOption).default([]).describe("More sbatch options, each as --name=value"),
  pollSeconds: z.int().positive().default(30).describe("At most one query per cluster in this time"),
});

/** WHERE a job runs. */
export const LauncherProfile = z.discriminatedUnion("kind", [
  LocalProfile,
  SshProfile.transform(withProcesses),
  SlurmProfile.transform(withProcesses),
  SageMakerProfile,
]);
export type LauncherProfile = z.infer<typeof LauncherProfile>;
export type ProfileOf<Kind extends LauncherProfile["kind"]> = Extract<LauncherProfile, { kind: Kind }>;
/** Of machines that are reached through a transport and have folders of their own. */
export type FarProfile = ProfileOf<"ssh" | "slurm">;
