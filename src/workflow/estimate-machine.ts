import { slurmSeconds, type LauncherProfile } from "../launch/index.ts";
import { GPUS, type GpuFacts } from "../recipe/index.ts";

/** What a profile says of the machine that an estimate is for. */
export interface EstimateMachine {
  readonly gpus: number;
  readonly gpu: GpuFacts;
  /** True where the profile does not say which GPUs these are. */
  readonly assumed: boolean;
  /** The longest that one job may run; null without a limit. */
  readonly walltimeSeconds: number | null;
  /** Before that limit the job is asked to save and stop. */
  readonly reservedSeconds: number;
  /** Jobs that are submitted at once, one after the other. */
  readonly links: number;
}

type Known = keyof typeof GPUS;
const DEFAULT: Known = "h100";

// By the first letters of an instance type, e.g. ml.p5.48xlarge.
const INSTANCES: Readonly<Record<string, Known>> = {
  "ml.p5": "h100",
  "ml.p5e": "h200",
  "ml.p5en": "h200",
  "ml.p4de": "a100",
  "ml.g6e": "l40s",
};

/** The GPUs and the time limit of a profile; null for one that trains on CPUs, or on this machine's own device. Pure. */
export const estimateMachine = (profile: LauncherProfile): EstimateMachine | null => {
  if (profile.device === "cpu") return null;
  const named = gpuNamed(profile);
  const gpu = GPUS[named ?? DEFAULT];
  const common = { gpu, assumed: named === undefined };
  const whole = { walltimeSeconds: null, reservedSeconds: 0, links: 1 };
  switch (profile.kind) {
    case "local":
      return profile.device === "cuda" ? { ...common, ...whole, gpus: profile.processes } : null;
    case "ssh":
      return { ...common, ...whole, gpus: profile.processes };
    case "slurm":
      return {
        ...common,
        gpus: profile.processes * profile.nodes,
        walltimeSeconds: slurmSeconds(profile.time) ?? null,
        reservedSeconds: profile.signalSeconds,
        links: profile.chain,
      };
    case "sagemaker":
      return {
        ...common,
        gpus: profile.processes * profile.instances,
        walltimeSeconds: profile.maxRuntimeSeconds,
        reservedSeconds: 0,
        links: 1,
      };
    default:
      return null;
  }
};

function gpuNamed(profile: LauncherProfile): Known | undefined {
  if (profile.kind === "sagemaker") return INSTANCES[profile.instanceType.split(".").slice(0, 2).join(".")];
  if (profile.kind !== "slurm") return undefined;
  const words = `${profile.gres ?? ""} ${profile.constraint ?? ""}`.toLowerCase();
  return known().find((name) => words.includes(name));
}

const known = (): Known[] => ["h100", "h200", "a100", "l40s"];
