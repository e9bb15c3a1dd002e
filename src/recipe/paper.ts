/** Where the published values come from. */
export const PAPER_SOURCE = "SpeechRole, arXiv 2508.02013";

/**
 * Every setting that the authors publish for SpeechRole-Agent, by its path in a recipe. They also give the machine
 * (8×H100, about 15 hours) and that gradients are accumulated, without batch size, epochs, optimizer, warm-up,
 * adapter rank or framework.
 */
export const PAPER: Readonly<Record<string, unknown>> = {
  "training.precision": "bf16",
  "training.learningRate": 1e-4,
  "evaluation.everySteps": 500,
};
