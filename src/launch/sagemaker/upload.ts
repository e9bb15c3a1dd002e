import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { PassThrough } from "node:stream";
import { pipeline } from "node:stream/promises";
import { systemCode } from "../../core/errors.ts";
import { sha256 } from "../../core/hash.ts";
import type { JobInput } from "../schema.ts";
import type { Aws } from "./aws.ts";
import { encryption, type Bucket } from "./bucket.ts";

/** From here on a file goes up in parts. */
const ONE_REQUEST = 32 * 1024 * 1024;
const AT_ONCE = 8;

export interface Uploaded {
  readonly sent: number;
  readonly bytes: number;
  /** Inputs that are neither here nor there, or are not what they should be, in words. */
  readonly problems: readonly string[];
}

interface Where {
  readonly aws: Aws;
  readonly bucket: Bucket;
  readonly kmsKey: string | null;
  /** Ends what is on its way; objects that are whole stay. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Sends what is missing. An object counts as there when size and SHA-256 are those of the input; a killed upload leaves no
 * object at all. Every byte is checked twice: here while it is read, there by the store's own checksum. Rejects when the signal
 * aborts.
 */
export const ensureObjects = async (inputs: readonly JobInput[], where: Where): Promise<Uploaded> => {
  const problems: string[] = [];
  let sent = 0;
  let bytes = 0;
  const queue = [...inputs];
  const worker = async (): Promise<void> => {
    for (let input = queue.shift(); input !== undefined; input = queue.shift()) {
      where.signal?.throwIfAborted();
      if (await isThere(input, where.bucket)) continue;
      const problem = await send(input, where);
      if (problem === undefined) {
        sent += 1;
        bytes += input.bytes;
      } else problems.push(problem);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, inputs.length) }, worker));
  return { sent, bytes, problems: problems.toSorted() };
};

/** Whether an input lies in the bucket, whole and unchanged. */
export const isThere = async (input: JobInput, bucket: Bucket): Promise<boolean> => {
  const head = await bucket.head(input.path);
  return head !== undefined && head.bytes === input.bytes && head.sha256 === input.sha256;
};

async function send(input: JobInput, where: Where): Promise<string | undefined> {
  const { source } = input;
  const there = `s3://${where.bucket.name}/${input.path}`;
  if (source === null) return `${there} is not there, and nothing here could be sent instead`;
  try {
    const { size } = await stat(source);
    if (size !== input.bytes) return `${source} has ${size} bytes, not ${input.bytes}`;
    const same = await (size <= ONE_REQUEST ? sendWhole : sendParts)({ ...input, source }, where);
    return same ? undefined : `${source} is not what it was: its SHA-256 is not ${input.sha256}`;
  } catch (error) {
    if (systemCode(error) !== "ENOENT") throw error;
    return `there is no file ${source}`;
  }
}

type Sent = JobInput & { readonly source: string };

async function sendWhole(input: Sent, { aws, bucket, kmsKey, signal }: Where): Promise<boolean> {
  const body = await readFile(input.source);
  if (sha256(body) !== input.sha256) return false;
  const { PutObjectCommand } = await import("@aws-sdk/client-s3");
  const client = await aws.s3();
  await client.send(
    new PutObjectCommand({
      Bucket: bucket.name,
      Key: input.path,
      Body: body,
      // The store refuses bytes that do not fit.
      ChecksumSHA256: Buffer.from(input.sha256, "hex").toString("base64"),
      Metadata: { sha256: input.sha256 },
      ...encryption(kmsKey),
    }),
    signal === undefined ? {} : { abortSignal: signal },
  );
  return true;
}

async function sendParts(input: Sent, { aws, bucket, kmsKey, signal }: Where): Promise<boolean> {
  const { Upload } = await import("@aws-sdk/lib-storage");
  const hash = createHash("sha256");
  const body = new PassThrough({ highWaterMark: 1024 * 1024 });
  const upload = new Upload({
    client: await aws.s3(),
    params: {
      Bucket: bucket.name,
      Key: input.path,
      Body: body,
      ChecksumAlgorithm: "SHA256",
      Metadata: { sha256: input.sha256 },
      ...encryption(kmsKey),
    },
    // 10,000 parts at most: a file of 5 TB fits.
    partSize: Math.max(16 * 1024 * 1024, Math.ceil(input.bytes / 9000)),
    queueSize: 4,
  });
  const abort = (): void => void upload.abort();
  signal?.addEventListener("abort", abort, { once: true });
  const feeding = feed(input, hash, body);
  // The last bytes are held back until the digest is right, so that a changed file never becomes an object.
  const sending = upload.done().finally(() => {
    signal?.removeEventListener("abort", abort);
    // Nobody takes what is still read.
    if (signal?.aborted) body.destroy(new Error("the upload was stopped"));
  });
  const [fed, done] = await Promise.allSettled([feeding, sending]);
  signal?.throwIfAborted();
  if (fed.status === "rejected") {
    if (fed.reason === CHANGED) return false;
    throw fed.reason;
  }
  if (done.status === "rejected") throw done.reason;
  return true;
}

const CHANGED = new Error("the file is not what it was");

async function feed(input: Sent, hash: ReturnType<typeof createHash>, body: PassThrough): Promise<void> {
  let held: Buffer | undefined;
  try {
    await pipeline(
      createReadStream(input.source, { highWaterMark: 1024 * 1024 }),
      async function* (chunks: AsyncIterable<Buffer>) {
        for await (const chunk of chunks) {
          hash.update(chunk);
          if (held !== undefined) yield held;
          held = chunk;
        }
        if (hash.digest("hex") !== input.sha256) throw CHANGED;
        if (held !== undefined) yield held;
      },
      body,
    );
  } catch (error) {
    body.destroy(error instanceof Error ? error : new Error(String(error)));
    throw error;
  }
}
