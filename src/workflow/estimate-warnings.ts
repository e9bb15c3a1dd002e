import type { Estimate } from "../recipe/index.ts";
import type { EstimateMachine } from "./estimate-machine.ts";

/** What does not fit although the estimate is a lower bound, in sentences with numbers. Pure. */
export const estimateWarnings = (
  bound: Estimate,
  machine: EstimateMachine,
  everySteps: number,
): readonly string[] => [...memoryWarnings(bound, machine), ...timeWarnings(bound, machine, everySteps)];

function memoryWarnings({ memory }: Estimate, { gpu, gpus }: EstimateMachine): string[] {
  const needs = `of the ${gigabytes(gpu.bytes)} GB of a GPU (${gpu.name})`;
  if (memory.state > gpu.bytes) {
    return [
      `weights, gradients and optimizer alone take ${gigabytes(memory.state)} GB on each of ${gpus} GPUs, ` +
        `more than the ${gigabytes(gpu.bytes)} GB of a ${gpu.name}: it cannot run; training.zero: 2 or mode: lora takes less`,
    ];
  }
  if (memory.mean > gpu.bytes) {
    return [
      `a micro-batch of mean dialogues takes at least ${gigabytes(memory.mean)} GB ${needs}: lower training.microBatch`,
    ];
  }
  if (memory.longest > gpu.bytes) {
    return [
      `a micro-batch of the longest dialogues takes at least ${gigabytes(memory.longest)} GB ${needs}: ` +
        "lower training.microBatch or training.maxTokens, or it may end with out of memory in the middle",
    ];
  }
  return [];
}

function timeWarnings({ seconds }: Estimate, machine: EstimateMachine, everySteps: number): string[] {
  const { walltimeSeconds, reservedSeconds, links } = machine;
  if (walltimeSeconds === null) return [];
  const usable = Math.max(1, walltimeSeconds - reservedSeconds);
  const warnings: string[] = [];
  if (seconds.firstCheckpoint.best > usable) {
    warnings.push(
      `the first evaluation (step ${everySteps}) takes at least ${hours(seconds.firstCheckpoint.best)}, ` +
        `longer than the ${hours(usable)} of one job: lower evaluation.everySteps, or allow more time`,
    );
  }
  const needed = { best: Math.ceil(seconds.best / usable), worst: Math.ceil(seconds.worst / usable) };
  const what = links === 1 ? "one job is too short" : `chain: ${links} is too short`;
  if (needed.best > links) {
    warnings.push(
      `${what}: ≥ ${hours(seconds.best)} / ${hours(usable)} usable of each job = at least ${needed.best} jobs ` +
        `(up to ${needed.worst}); what is left has to be resumed by a watcher`,
    );
  } else if (needed.worst > links) {
    warnings.push(
      `${links === 1 ? "one job" : `chain: ${links}`} may be too short: ${hours(seconds.best)} to ${hours(seconds.worst)} ` +
        `/ ${hours(usable)} usable of each job = ${needed.best} to ${needed.worst} jobs`,
    );
  }
  return warnings;
}

/** `15.2 h`, `24 min`. */
const hours = (seconds: number): string =>
  seconds < 3600 ? `${Math.max(1, Math.round(seconds / 60))} min` : `${(seconds / 3600).toFixed(1)} h`;

const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(bytes < 10e9 ? 1 : 0);
