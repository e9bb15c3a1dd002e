const RATE = 24_000;

/** A real WAV file (24 kHz, mono, s16): a soft tone that rises and falls. */
export const sampleWav = (seconds: number, hertz: number): Uint8Array => {
  const samples = Math.round(seconds * RATE);
  const bytes = Buffer.alloc(44 + samples * 2);
  bytes.write("RIFF", 0);
  bytes.writeUInt32LE(36 + samples * 2, 4);
  bytes.write("WAVEfmt ", 8);
  bytes.writeUInt32LE(16, 16);
  bytes.writeUInt16LE(1, 20);
  bytes.writeUInt16LE(1, 22);
  bytes.writeUInt32LE(RATE, 24);
  bytes.writeUInt32LE(RATE * 2, 28);
  bytes.writeUInt16LE(2, 32);
  bytes.writeUInt16LE(16, 34);
  bytes.write("data", 36);
  bytes.writeUInt32LE(samples * 2, 40);
  for (let index = 0; index < samples; index++) {
    const loudness = Math.sin((Math.PI * index) / samples) * 6000;
    bytes.writeInt16LE(Math.round(loudness * Math.sin((2 * Math.PI * hertz * index) / RATE)), 44 + index * 2);
  }
  return bytes;
};
