import type { Check } from "../schema.ts";
import type { Gpu, Gpus } from "./gpus.ts";

export interface GpuNeed {
  readonly device: "auto" | "cpu" | "cuda";
  /** One for each process. */
  readonly count: number;
  /** Memory that others may hold for a GPU to count as free. */
  readonly maxHeldMebibytes: number;
  /** CUDA version of the payload's torch; null when an image brings its own. */
  readonly cuda: string | null;
}

/** Number, free memory with who holds it, and driver of a machine's GPUs. */
export const gpuChecks = (found: Gpus, need: GpuNeed): readonly Check[] => {
  if (need.device === "cpu") return [];
  switch (found.state) {
    case "absent":
      return [without("there is no nvidia-smi on PATH", need)];
    case "failed":
      return [without(`nvidia-smi fails: ${found.reason}`, need)];
    case "known":
      return [countCheck(found.gpus, need), heldCheck(found.gpus, need), driverCheck(found, need)];
    default:
      return found;
  }
};

function without(detail: string, { device }: GpuNeed): Check {
  const name = "gpus";
  return device === "auto"
    ? {
        name,
        outcome: "warning",
        detail: `${detail}: the job would run on the CPU`,
        hint: "set device in the profile",
      }
    : { name, outcome: "failed", detail, hint: "the profile asks for cuda; without a GPU set device: cpu" };
}

function countCheck(gpus: readonly Gpu[], { count }: GpuNeed): Check {
  const kinds = [...new Set(gpus.map(({ name }) => name))].join(", ");
  const detail = `${gpus.length} found${kinds === "" ? "" : ` (${kinds})`}, ${count} needed`;
  return gpus.length >= count
    ? { name: "gpus", outcome: "ok", detail }
    : { name: "gpus", outcome: "failed", detail, hint: "set processes in the profile to the number of GPUs" };
}

function heldCheck(gpus: readonly Gpu[], { count, maxHeldMebibytes }: GpuNeed): Check {
  const name = "gpu memory";
  const untold = gpus.filter(({ usedMebibytes }) => usedMebibytes === null);
  if (untold.length > 0) {
    return {
      name,
      outcome: "unknown",
      detail: `nvidia-smi does not tell it for GPU ${untold.map(({ index }) => index).join(", ")}`,
    };
  }
  const held = gpus.filter(({ usedMebibytes }) => (usedMebibytes ?? 0) > maxHeldMebibytes);
  const free = gpus.length - held.length;
  const detail = [`${free} of ${gpus.length} GPUs are free, ${count} needed`, ...held.map(heldLine)].join(
    "\n",
  );
  return free >= count
    ? { name, outcome: "ok", detail }
    : {
        name,
        outcome: "failed",
        detail,
        hint: "end what holds them, or wait; maxHeldMebibytes says how much is tolerated",
      };
}

function heldLine({ index, totalMebibytes, usedMebibytes, holders }: Gpu): string {
  const who = holders.map(
    ({ pid, owner, mebibytes, program }) =>
      `${gigabytes(mebibytes)} by pid ${pid} of ${owner === "?" ? "an unknown user" : owner}${program === "" ? "" : ` (${program})`}`,
  );
  const list = who.length === 0 ? "by nobody that nvidia-smi shows" : who.join(", ");
  return `GPU ${index}: ${gigabytes(usedMebibytes)} of ${gigabytes(totalMebibytes)} held: ${list}`;
}

function gigabytes(mebibytes: number | null): string {
  return mebibytes === null ? "an unknown amount" : `${((mebibytes * 1024 * 1024) / 1e9).toFixed(1)} GB`;
}

// Oldest driver of each major version of CUDA: within one, a newer minor version runs on an older driver.
const OLDEST_DRIVER: Readonly<Record<string, string>> = { "11": "450", "12": "525", "13": "580" };

function driverCheck({ gpus, cuda: supported }: Extract<Gpus, { state: "known" }>, { cuda }: GpuNeed): Check {
  const name = "driver";
  const driver = gpus[0]?.driver ?? "unknown";
  const found = `driver ${driver}${supported === null ? "" : ` (CUDA ${supported})`}`;
  if (cuda === null) return { name, outcome: "ok", detail: `${found}; the image brings its own CUDA` };
  const wanted = `the payload's torch is built for CUDA ${cuda}`;
  if (supported === null) return { name, outcome: "unknown", detail: `${found}; ${wanted}` };
  const oldest = OLDEST_DRIVER[major(cuda)];
  const hint = `${oldest === undefined ? "update the driver" : `driver ${oldest} or newer is needed`}, or a container with an older CUDA`;
  return Number(major(supported)) >= Number(major(cuda))
    ? { name, outcome: "ok", detail: `${found}; ${wanted}` }
    : { name, outcome: "failed", detail: `${found} is too old: ${wanted}`, hint };
}

function major(version: string): string {
  return version.split(".")[0] ?? "";
}

/** CUDA version of the payload's torch, out of the lock of its libraries, e.g. `13.0`; null when it is not there. */
export const cudaOfLock = (lock: string): string | null =>
  /^nvidia-cuda-runtime(?:-cu\d+)?==(\d+\.\d+)/m.exec(lock)?.[1] ?? null;
