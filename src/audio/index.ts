// A leaf of the stages: any WAV file becomes a clip in the one stored form, or a refusal with its reason.
export { clipReader, type ReadClip, type ReadyClip } from "./clip.ts";
export { measureClip, type ClipMeasures } from "./measure.ts";
export { readWav } from "./read-wav.ts";
export { resampler, type Resample } from "./resample.ts";
export type { Decoded, Rejected, WavFault, WavFormat, WavNote } from "./result.ts";
export { CLIP_RATE, clipHeader, HEADER_BYTES, isClip, writeClip } from "./write-wav.ts";
