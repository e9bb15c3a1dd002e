import type { TrainingPlan } from "../../../recipe/index.ts";
import { MFU } from "../../../recipe/index.ts";
import type { TrainingEstimate } from "../../../workflow/index.ts";
import { bytesText, countText, secondsText } from "../../quantities.ts";

/** What a training costs at least, in a few lines that say what is counted and what is assumed. */
export const estimateLines = (
  { bound, machine, diskBytes }: TrainingEstimate,
  plan: TrainingPlan,
): string[] => {
  const each = plan.evaluations === 0 ? 0 : diskBytes / plan.evaluations;
  const disk = `  disk    ${bytesText(diskBytes)} for ${plan.evaluations} checkpoints of ${bytesText(each)}; data, model and Python environment come on top`;
  const steps = `${countText(plan.steps)} steps, ${plan.evaluations} evaluations`;
  if (bound === null || machine === null) {
    return [`estimate: ${steps}; time and memory are only estimated for a 7B model on GPUs`, disk];
  }
  const { tokens, memory, seconds } = bound;
  const { gpu, gpus, assumed } = machine;
  const counted =
    tokens.from === "counted"
      ? "audio as the lock counts it, text by the reference's means"
      : "means of the reference: nothing is packed";
  const peak = `${Math.round(MFU.best * 100)} to ${Math.round(MFU.worst * 100)} % of the peak, an assumption`;
  return [
    "estimate, a LOWER BOUND by arithmetic (nothing was measured):",
    `  tokens  ${short(tokens.total)} in ${steps}; ${countText(Math.round(tokens.perDialogue))} a dialogue (${counted})`,
    `  memory  ≥ ${bytesText(memory.mean)} with mean, ${bytesText(memory.longest)} with the longest dialogues, of ${bytesText(gpu.bytes)} on each of ${gpus} GPUs (${gpu.name}${assumed ? ", assumed" : ""})`,
    `  time    ≥ ${secondsText(seconds.best)} to ${secondsText(seconds.worst)} (${peak}); first checkpoint after ${secondsText(seconds.firstCheckpoint.best)} to ${secondsText(seconds.firstCheckpoint.worst)}`,
    disk,
  ];
};

function short(tokens: number): string {
  return tokens >= 1e9 ? `${(tokens / 1e9).toFixed(2)} G` : `${(tokens / 1e6).toFixed(1)} M`;
}
