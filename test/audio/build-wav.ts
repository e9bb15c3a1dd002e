/** Bytes of WAV files, right and wrong, made by hand so that no code under test has a part in them. */
export interface Chunk {
  readonly id: string;
  readonly body: Uint8Array;
  /** Written instead of the true size. */
  readonly size?: number;
  /** False: an odd body gets no pad byte. */
  readonly pad?: boolean;
}

export interface FmtOptions {
  readonly tag?: number;
  readonly channels?: number;
  readonly rate?: number;
  readonly bits?: number;
  readonly blockAlign?: number;
  readonly extra?: Uint8Array;
  readonly bigEndian?: boolean;
}

export const ascii = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "latin1"));

export const fmt = (options: FmtOptions = {}): Chunk => {
  const { tag = 1, channels = 1, rate = 16_000, bits = 16, extra = new Uint8Array() } = options;
  const body = new Uint8Array(16 + extra.length);
  const view = new DataView(body.buffer);
  const little = options.bigEndian !== true;
  const blockAlign = options.blockAlign ?? Math.ceil(bits / 8) * channels;
  view.setUint16(0, tag, little);
  view.setUint16(2, channels, little);
  view.setUint32(4, rate, little);
  view.setUint32(8, rate * blockAlign, little);
  view.setUint16(12, blockAlign, little);
  view.setUint16(14, bits, little);
  body.set(extra, 16);
  return { id: "fmt ", body };
};

/** The tail of an extensible fmt chunk with this plain tag in its GUID. */
export const extensible = (tag: number, validBits: number): Uint8Array => {
  const extra = new Uint8Array(24);
  const view = new DataView(extra.buffer);
  view.setUint16(0, 22, true);
  view.setUint16(2, validBits, true);
  view.setUint32(4, 4, true);
  view.setUint16(8, tag, true);
  extra.set([0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71], 10);
  return extra;
};

export const data = (body: Uint8Array, more: Omit<Chunk, "id" | "body"> = {}): Chunk => ({
  id: "data",
  body,
  ...more,
});

export const s16 = (values: readonly number[], little = true): Uint8Array => {
  const body = new Uint8Array(values.length * 2);
  const view = new DataView(body.buffer);
  values.forEach((value, index) => view.setInt16(index * 2, value, little));
  return body;
};

export const s24 = (values: readonly number[], little = true): Uint8Array =>
  Uint8Array.from(
    values.flatMap((value) => {
      const bytes = [value & 255, (value >> 8) & 255, (value >> 16) & 255];
      return little ? bytes : bytes.toReversed();
    }),
  );

export const s32 = (values: readonly number[]): Uint8Array => new Uint8Array(Int32Array.from(values).buffer);
export const f32 = (values: readonly number[]): Uint8Array =>
  new Uint8Array(Float32Array.from(values).buffer);
export const f64 = (values: readonly number[]): Uint8Array =>
  new Uint8Array(Float64Array.from(values).buffer);

export interface RiffOptions {
  readonly id?: string;
  readonly size?: number;
  readonly bigEndian?: boolean;
}

export const riff = (chunks: readonly Chunk[], options: RiffOptions = {}): Uint8Array => {
  const little = options.bigEndian !== true;
  const parts = chunks.flatMap(({ id, body, size, pad }) => {
    const header = new Uint8Array(8);
    header.set(ascii(id));
    new DataView(header.buffer).setUint32(4, size ?? body.length, little);
    return body.length % 2 === 1 && pad !== false ? [header, body, new Uint8Array(1)] : [header, body];
  });
  const body = Buffer.concat(parts);
  const head = new Uint8Array(12);
  head.set(ascii(options.id ?? (little ? "RIFF" : "RIFX")));
  new DataView(head.buffer).setUint32(4, options.size ?? body.length + 4, little);
  head.set(ascii("WAVE"), 8);
  return new Uint8Array(Buffer.concat([head, body]));
};

/** Sine of amplitude 0 to 1, in s16. */
export const sine = (
  hertz: number,
  rate: number,
  options: { seconds: number; amplitude?: number },
): number[] =>
  Array.from({ length: Math.round(options.seconds * rate) }, (_, n) =>
    Math.round(32_767 * (options.amplitude ?? 0.5) * Math.sin((2 * Math.PI * hertz * n) / rate)),
  );

/** A chunk of no interest. */
export const odd = (id: string, length: number): Chunk => ({ id, body: new Uint8Array(length).fill(65) });

/** The ds64 chunk of RF64 with this size of data. */
export const ds64 = (dataSize: bigint): Chunk => {
  const body = new Uint8Array(28);
  new DataView(body.buffer).setBigUint64(8, dataSize, true);
  return { id: "ds64", body };
};
