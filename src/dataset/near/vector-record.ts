import { crc32 } from "node:zlib";
import { digestOf } from "../../core/hash.ts";
import type { EmbedderFingerprint } from "./embedder.ts";

// The file of a cache: a header, then records of one size. Little-endian, so that the file is the same on every machine.
// header: magic (8) · dimension (u32) · zero (u32) · SHA-256 of the fingerprint (32) · CRC-32 of these 48 bytes (u32)
// record: SHA-256 of the text (32) · float32 × dimension · CRC-32 of both (u32)
const MAGIC = "usvect1\n";
const KEY_BYTES = 32;
const CRC_BYTES = 4;

export const HEADER_BYTES = 52;

/** Bytes of a record. */
export const recordBytes = (dimension: number): number => KEY_BYTES + 4 * dimension + CRC_BYTES;

export const headerOf = (fingerprint: EmbedderFingerprint): Buffer => {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write(MAGIC, 0, "latin1");
  header.writeUInt32LE(fingerprint.dimension, 8);
  header.write(digestOf(fingerprint), 16, "hex");
  return sealed(header);
};

/** `key`: SHA-256 of the text in hexadecimal. */
export const encodeRecord = (key: string, vector: Float32Array): Buffer => {
  const record = Buffer.alloc(recordBytes(vector.length));
  record.write(key, 0, "hex");
  for (const [index, value] of vector.entries()) record.writeFloatLE(value, KEY_BYTES + 4 * index);
  return sealed(record);
};

/** The key of a record, or undefined when the record was not written whole. */
export const keyOfRecord = (record: Buffer): string | undefined =>
  record.readUInt32LE(record.length - CRC_BYTES) === crc32(record.subarray(0, -CRC_BYTES))
    ? record.toString("hex", 0, KEY_BYTES)
    : undefined;

/** The vector of a record that is known to be whole. */
export const vectorOfRecord = (record: Buffer): Float32Array =>
  Float32Array.from({ length: (record.length - KEY_BYTES - CRC_BYTES) / 4 }, (_, index) =>
    record.readFloatLE(KEY_BYTES + 4 * index),
  );

function sealed(bytes: Buffer): Buffer {
  bytes.writeUInt32LE(crc32(bytes.subarray(0, -CRC_BYTES)), bytes.length - CRC_BYTES);
  return bytes;
}
