/**
 * Numbers of a published model that the arithmetic needs. Parameter counts: a build of the model's configuration without weights;
 * shapes: its config.json. Nothing here was measured on a GPU.
 */
export interface ModelFacts {
  /** Numbers in the thinker, which is what is trained and held: language model, audio and vision towers. */
  readonly thinker: number;
  /** Numbers in the language model, embeddings and output layer included: what full training trains. */
  readonly languageModel: number;
  /** Numbers that take part in a token's matrix products: the language model without its input embeddings. */
  readonly perToken: number;
  /** Trainable numbers for each rank of the adapters on the language model's projections. */
  readonly loraPerRank: number;
  readonly layers: number;
  readonly hidden: number;
  readonly intermediate: number;
  readonly vocabulary: number;
  /** Bytes of the whole published model on disk. */
  readonly diskBytes: number;
}

const QWEN_OMNI_7B: ModelFacts = {
  thinker: 8.93e9,
  languageModel: 7.616e9,
  perToken: 7.07e9,
  loraPerRank: 161.5e6 / 64,
  layers: 28,
  hidden: 3584,
  intermediate: 18_944,
  vocabulary: 152_064,
  diskBytes: 22.4e9,
};

const MODELS: Readonly<Record<string, ModelFacts>> = { "Qwen/Qwen2.5-Omni-7B": QWEN_OMNI_7B };

/** Facts of a published model; undefined where they are not known. */
export const modelFacts = (id: string): ModelFacts | undefined => MODELS[id];

/** What a GPU can do at most, as its maker says. */
export interface GpuFacts {
  readonly name: string;
  /** Memory in bytes, as sold: what a program gets is a little less. */
  readonly bytes: number;
  /** Dense bf16 operations per second. */
  readonly flops: number;
  readonly source: string;
}

/** Makers' figures by the short name that schedulers use; dense, without sparsity. */
export const GPUS = {
  h100: { name: "H100 80 GB", bytes: 80e9, flops: 989e12, source: "NVIDIA H100 SXM data sheet" },
  h200: { name: "H200 141 GB", bytes: 141e9, flops: 989e12, source: "NVIDIA H200 SXM data sheet" },
  a100: { name: "A100 80 GB", bytes: 80e9, flops: 312e12, source: "NVIDIA A100 80GB data sheet" },
  l40s: { name: "L40S 48 GB", bytes: 48e9, flops: 362e12, source: "NVIDIA L40S data sheet" },
} as const satisfies Readonly<Record<string, GpuFacts>>;

/** Tokens of a conversation where the data set cannot say: of audio 25 a second, as the audio tower makes them. */
export const TOKENS = {
  perAudioSecond: 25,
  /** Role card and preamble: 400 to 700. */
  system: 550,
  /** The role's answer: 70 to 100. These are the label tokens. */
  answer: 85,
  /** Turn markers and audio brackets. */
  perTurn: 12,
  /** A whole dialogue, single and multi-turn mixed. */
  dialogue: 1250,
  turnsPerDialogue: 2,
} as const;

/** Share of a GPU's peak that training reaches: a careful setup, and one with small batches and much padding. */
export const MFU = { best: 0.35, worst: 0.1 } as const;

/** Bytes per second to a shared disk while a checkpoint is saved; an assumption. */
export const SAVE_BYTES_PER_SECOND = 2e9;

/** CUDA context and gradient buckets: 2 to 4 GB; the lower end. */
export const OVERHEAD_BYTES = 2e9;
