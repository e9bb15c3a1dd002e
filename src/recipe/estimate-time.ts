import { MFU, SAVE_BYTES_PER_SECOND, type GpuFacts, type ModelFacts } from "./estimate-facts.ts";
import type { Recipe } from "./schema.ts";

/** Seconds at the best and at the worst share of the peak that is usual. */
export interface Span {
  readonly best: number;
  readonly worst: number;
}

type Training = Pick<Recipe["training"], "mode" | "gradientCheckpointing">;

/** Operations for each token and number: forward 2, gradients of activations 2, of weights 2 more, recomputation 2. */
const passes = ({ mode, gradientCheckpointing }: Training): number =>
  (mode === "full" ? 6 : 4) + (gradientCheckpointing ? 2 : 0);

/** Seconds to train on so many tokens. Matrix products of the language model only: attention and audio tower add 2 % each. */
export const trainingSeconds = (
  training: Training,
  facts: ModelFacts,
  work: { readonly tokens: number; readonly gpus: number; readonly gpu: Pick<GpuFacts, "flops"> },
): Span => spanOf(passes(training) * facts.perToken * work.tokens, work);

/** Seconds to evaluate so many tokens: a forward pass. */
export const evaluationSeconds = (
  facts: ModelFacts,
  work: { readonly tokens: number; readonly gpus: number; readonly gpu: Pick<GpuFacts, "flops"> },
): Span => spanOf(2 * facts.perToken * work.tokens, work);

/** Seconds to save so many bytes to a shared disk. */
export const saveSeconds = (bytes: number): number => bytes / SAVE_BYTES_PER_SECOND;

function spanOf(
  operations: number,
  { gpus, gpu }: { readonly gpus: number; readonly gpu: Pick<GpuFacts, "flops"> },
): Span {
  const atPeak = operations / (gpus * gpu.flops);
  return { best: atPeak / MFU.best, worst: atPeak / MFU.worst };
}
