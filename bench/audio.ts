// What a pack computes for each clip, on one core, in turns: SHA-256 of its samples (which has to be made anyway, and is the
// measure of the rest), peak, clipping and silence by the WebAssembly kernel and by a plain loop, and 24 kHz to 16 kHz.
// Usage: node bench/compiled.js audio [--rounds 5]
import { createHash } from "node:crypto";
import { measureClip, openResampler, writeClip } from "../src/audio/index.ts";
import { benchArguments, median } from "./bench-arguments.ts";

// At least this share of the rate of SHA-256.
const LIMITS = { kernel: 1.2, resampler: 0.02 };
const SECONDS = 6;
const CLIPS = 50;
const rounds = Number(benchArguments(["rounds"]).rounds ?? 5);

const noise = (rate: number): Float32Array => {
  let state = 1;
  return Float32Array.from({ length: rate * SECONDS }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state / 2 ** 33;
  });
};
const clip = writeClip(noise(16_000));
const pcm = new Int16Array(clip.buffer.slice(clip.byteOffset + 44, clip.byteOffset + clip.length));
const high = noise(24_000);
const resample = await openResampler(16_000);

const ways: Readonly<Record<string, () => unknown>> = {
  "SHA-256": () => createHash("sha256").update(clip).digest(),
  kernel: () => measureClip(clip),
  "plain loop": () => plainly(pcm),
  resampler: () => resample(high, 24_000),
};
const seconds = new Map<string, number[]>();
for (let round = 0; round <= rounds; round++)
  for (const [name, way] of Object.entries(ways)) {
    const start = performance.now();
    for (let clips = 0; clips < CLIPS; clips++) way();
    // The first round is for the compiler.
    if (round > 0) seconds.set(name, [...(seconds.get(name) ?? []), (performance.now() - start) / 1000]);
  }

const of = (name: string): number => median(seconds.get(name) ?? []);
for (const name of Object.keys(ways))
  console.log(
    `${name.padEnd(10)} ${(of(name) * 1000).toFixed(0).padStart(5)} ms for ${CLIPS} clips of ${SECONDS} s, ${Math.round((CLIPS * SECONDS) / of(name)).toLocaleString("en")} times real time, ${(of("SHA-256") / of(name)).toFixed(2)} of the rate of SHA-256`,
  );
for (const [name, limit] of Object.entries(LIMITS))
  if (!(of("SHA-256") / of(name) >= limit)) {
    console.log(`limit missed: ${name} has less than ${limit} of the rate of SHA-256`);
    process.exitCode = 1;
  }

function plainly(samples: Int16Array): number {
  let [most, least, clipped, quiet] = [0, 0, 0, 0];
  for (let start = 0; start < samples.length; start += 320) {
    const end = Math.min(start + 320, samples.length);
    let squares = 0;
    for (let index = start; index < end; index++) {
      const value = samples[index] ?? 0;
      squares += value * value;
      if (value > most) most = value;
      if (value < least) least = value;
      if (value === 32_767 || value === -32_768) clipped++;
    }
    if (squares / (end - start) < 10_737) quiet++;
  }
  return most + least + clipped + quiet;
}
