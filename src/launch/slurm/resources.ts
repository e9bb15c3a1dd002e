import type { ProfileOf } from "../profile.ts";
import type { Job } from "../schema.ts";

type SlurmProfile = ProfileOf<"slurm">;

/** What sbatch is asked for; null leaves it to the site. */
export interface SlurmResources {
  readonly nodes: number;
  /** On each node. */
  readonly processes: number;
  readonly gres: string | null;
  readonly cpusPerTask: number | null;
  readonly memory: string | null;
}

/**
 * What a job of this kind gets. The profile speaks of a node that trains: anything else is one process with one GPU, and gets
 * its share of the processors and of the memory, so that it does not wait for a node of its own. `memory: 0`, all there is, has no
 * share: the site's default is taken. Pure.
 */
export const slurmResources = (job: Pick<Job, "kind">, profile: SlurmProfile): SlurmResources => {
  const { processes, memory, cpusPerTask } = profile;
  if (job.kind === "train") {
    return {
      nodes: profile.nodes,
      processes,
      gres: profile.gres ?? gpus(profile, processes),
      cpusPerTask: cpusPerTask ?? null,
      memory: memory ?? null,
    };
  }
  return {
    nodes: 1,
    processes: 1,
    gres: profile.gres === undefined ? gpus(profile, 1) : withOneGpu(profile.gres),
    cpusPerTask: cpusPerTask === undefined ? null : Math.ceil(cpusPerTask / processes),
    memory: memory === undefined ? null : shareOf(memory, processes),
  };
};

const gpus = ({ device }: SlurmProfile, count: number): string | null =>
  device === "cpu" ? null : `gpu:${count}`;

const GPU = /^(gres[:/])?gpu(:|$)/;

/** `gpu:h100:8,nvme:1` → `gpu:h100:1,nvme:1`. Of several kinds of GPUs the first one stays. */
export const withOneGpu = (gres: string): string => {
  const entries = gres.split(",");
  const first = entries.findIndex((entry) => GPU.test(entry));
  return entries
    .filter((entry, index) => index === first || !GPU.test(entry))
    .map((entry) => (GPU.test(entry) ? entry.replace(/:\d+$/, ":1") : entry))
    .join(",");
};

// sbatch takes whole numbers; without a unit they are mebibytes.
const UNITS = ["K", "M", "G", "T"];

/** `900G` of 8 processes → `115200M`; null for all of a node. What cannot be read stays as it is: sbatch says what is wrong. */
export const shareOf = (memory: string, processes: number): string | null => {
  const [, digits, letter = "M"] = /^(\d+)([KMGT]?)B?$/i.exec(memory) ?? [];
  if (digits === undefined) return memory;
  const amount = Number(digits);
  if (amount === 0) return null;
  const unit = UNITS.indexOf((letter === "" ? "M" : letter).toUpperCase());
  if (amount % processes === 0 || unit === 0) return `${Math.ceil(amount / processes)}${UNITS[unit] ?? "M"}`;
  return `${Math.ceil((amount * 1024) / processes)}${UNITS[unit - 1] ?? "K"}`;
};
