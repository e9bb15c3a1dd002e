/** Rate of every stored clip, in Hz. */
export const CLIP_RATE = 16_000;
/** Bytes before the samples of a stored clip. */
export const HEADER_BYTES = 44;

/** The header of a stored clip (mono, 16 bits, 16 kHz) with `dataBytes` bytes of samples. */
export const clipHeader = (dataBytes: number): Uint8Array => {
  const header = new Uint8Array(HEADER_BYTES);
  const view = new DataView(header.buffer);
  const text = (offset: number, value: string): void => header.set(Buffer.from(value, "latin1"), offset);
  text(0, "RIFF");
  view.setUint32(4, HEADER_BYTES - 8 + dataBytes, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, CLIP_RATE, true);
  view.setUint32(28, CLIP_RATE * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, dataBytes, true);
  return header;
};

/** A complete clip from samples at full scale ±1, rounded to 16 bits; anything beyond full scale is clipped. */
export const writeClip = (samples: Float32Array): Uint8Array => {
  const bytes = new Uint8Array(HEADER_BYTES + samples.length * 2);
  bytes.set(clipHeader(samples.length * 2));
  const view = new DataView(bytes.buffer);
  // By index: handing each sample to a function makes an object of it, which takes longer than all the rest.
  for (let index = 0; index < samples.length; index++) {
    const value = Math.round((samples[index] ?? 0) * 32_768);
    view.setInt16(HEADER_BYTES + index * 2, Math.max(-32_768, Math.min(32_767, value)), true);
  }
  return bytes;
};

const EMPTY = clipHeader(0);
// What differs between two headers.
const SIZES: ReadonlySet<number> = new Set([4, 5, 6, 7, 40, 41, 42, 43]);

/** True when the bytes are a clip in the stored form already. */
export const isClip = (bytes: Uint8Array): boolean => {
  const dataBytes = bytes.length - HEADER_BYTES;
  if (dataBytes <= 0 || dataBytes % 2 !== 0) return false;
  const { buffer, byteOffset } = bytes;
  const view = new DataView(buffer, byteOffset, HEADER_BYTES);
  return (
    view.getUint32(4, true) === HEADER_BYTES - 8 + dataBytes &&
    view.getUint32(40, true) === dataBytes &&
    EMPTY.every((byte, at) => byte === bytes[at] || SIZES.has(at))
  );
};

/** The samples of a clip in the stored form, as bytes. */
export const clipPcm = (wav: Uint8Array): Uint8Array => wav.subarray(HEADER_BYTES);

/** The samples of a clip in the stored form; the same memory where it lies at an even address, else a copy. */
export const clipSamples = (wav: Uint8Array): Int16Array => {
  const pcm = clipPcm(wav);
  const aligned = pcm.byteOffset % 2 === 0 ? pcm : pcm.slice();
  return new Int16Array(aligned.buffer, aligned.byteOffset, Math.floor(aligned.length / 2));
};
