// A leaf of the stages: any WAV or FLAC file becomes a clip in the one stored form, or a refusal with its reason.
export { lazyClipReader, openClipReader, type ClipCodec, type ReadClip, type ReadyClip } from "./clip.ts";
export { isFlac, openFlac, type Flac } from "./flac.ts";
export { measureClip, type ClipMeasures } from "./measure.ts";
export { readWav } from "./read-wav.ts";
export { openResampler, type Resample } from "./resample.ts";
export type { Decoded, Rejected, WavFault, WavFormat, WavNote } from "./result.ts";
export { CLIP_RATE, clipHeader, clipPcm, clipSamples, HEADER_BYTES, isClip, writeClip } from "./write-wav.ts";
