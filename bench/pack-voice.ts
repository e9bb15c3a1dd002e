// Voices for generated corpora: harmonics under a syllable's envelope, with breath. Same number, same samples.

const BASE_SECONDS = 20;
const HEADER_BYTES = 44;
const HARMONICS = [1, 0.7, 0.5, 0.35, 0.2, 0.12] as const;

/** Numbers in [0, 1) from a seed: a linear congruence is enough, and the same on every machine. */
export const randomOf = (seed: number): (() => number) => {
  let state = (Math.imul(seed, 2_654_435_761) ^ 0x9e37_79b9) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
};

/** Makes WAV files (16 bits, mono) of one rate, in Hz. */
export type Speak = (number: number, seconds: number) => Buffer;

/** A speaker; no two numbers give the same samples. */
export const openVoice = (rate: number): Speak => {
  const base = baseOf(rate);
  return (number, seconds) => {
    const samples = Math.round(seconds * rate);
    const random = randomOf(number);
    const start = Math.floor(random() * base.length);
    const gain = 0.5 + random() * 0.4;
    const bytes = Buffer.from(new ArrayBuffer(HEADER_BYTES + samples * 2));
    header(bytes, rate);
    const values = new Int16Array(bytes.buffer, HEADER_BYTES);
    let noise = (number + 1) >>> 0;
    for (let index = 0, at = start; index < samples; index++, at++) {
      if (at >= base.length) at = 0;
      noise = (Math.imul(noise, 1_664_525) + 1_013_904_223) >>> 0;
      values[index] = (base[at] ?? 0) * gain + (noise >>> 26) - 32;
    }
    return bytes;
  };
};

function baseOf(rate: number): Float64Array {
  const base = new Float64Array(rate * BASE_SECONDS);
  const random = randomOf(rate);
  let phase = 0;
  for (let index = 0; index < base.length; index++) {
    const time = index / rate;
    phase += (2 * Math.PI * (140 + 40 * Math.sin(time * 2.1) + 15 * Math.sin(time * 11))) / rate;
    const envelope = Math.max(0.03, Math.sin(time * Math.PI * 4.3)) * (0.6 + 0.4 * Math.sin(time * 1.7));
    let value = 0;
    for (const [order, part] of HARMONICS.entries()) value += part * Math.sin(phase * (order + 1));
    base[index] = 7_000 * envelope * value + 300 * (random() - 0.5);
  }
  return base;
}

function header(bytes: Buffer, rate: number): void {
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(bytes.length - 8, 4);
  bytes.write("WAVEfmt ", 8, "latin1");
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(rate, 24);
  bytes.writeUInt32LE(rate * 2, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write("data", 36, "latin1");
  bytes.writeUInt32LE(bytes.length - HEADER_BYTES, 40);
}
