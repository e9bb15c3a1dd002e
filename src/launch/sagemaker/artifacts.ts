import { createWriteStream } from "node:fs";
import { mkdir, rename, rm, stat } from "node:fs/promises";
import { dirname, posix } from "node:path";
import { pipeline } from "node:stream/promises";
import { Readable } from "node:stream";
import { RemoteError, systemCode, UserError } from "../../core/errors.ts";
import { syncFolder } from "../../core/files.ts";
import { sha256File } from "../../core/hash.ts";
import type { ArtifactStore } from "../schema.ts";
import type { Aws } from "./aws.ts";
import type { Bucket, ObjectHead } from "./bucket.ts";

/** Files below a run's folder in the bucket. Paths are relative to it. */
export const bucketArtifacts = (
  run: string,
  { aws, bucket }: { readonly aws: Aws; readonly bucket: Bucket },
): ArtifactStore => {
  const missing = (path: string): RemoteError =>
    new RemoteError("ARTIFACT_MISSING", `There is no ${path} in s3://${bucket.name}/${run}`);
  return {
    list: async (folder) => {
      const objects = await bucket.list(inside(run, folder));
      return objects
        .map(({ key, bytes }) => ({ path: key.slice(run.length + 1), bytes }))
        .toSorted((a, b) => (a.path < b.path ? -1 : 1));
    },
    read: async (path, start = 0, end) => {
      const bytes = await bucket.read(inside(run, path), start, end);
      if (bytes === undefined) throw missing(path);
      // A store may answer a range behind the end with the whole object.
      return end !== undefined && bytes.length > Math.max(0, end - start) ? new Uint8Array() : bytes;
    },
    digest: async (path) => {
      const head = await bucket.head(inside(run, path));
      if (head === undefined) throw missing(path);
      // What a container has copied carries no SHA-256: only a reader of all of it could tell.
      return head.sha256;
    },
    download: async (path, to, options) => {
      const key = inside(run, path);
      const head = await bucket.head(key);
      if (head === undefined) throw missing(path);
      await mkdir(dirname(to), { recursive: true });
      await fetchOn(head, to, { aws, bucket, signal: options?.signal });
    },
  };
};

function inside(run: string, path: string): string {
  const full = posix.normalize(posix.join(run, path));
  if (full.startsWith(`${run}/`)) return full.replace(/\/+$/, "");
  throw new UserError("ARTIFACT_OUTSIDE", `${path} is not below the run's folder ${run}`);
}

/** Goes on behind what an earlier, killed download has left; a newer object of the same name begins anew. */
async function fetchOn(
  head: ObjectHead,
  to: string,
  {
    aws,
    bucket,
    signal,
  }: { readonly aws: Aws; readonly bucket: Bucket; readonly signal: AbortSignal | undefined },
): Promise<void> {
  const part = `${to}.${head.modifiedAt.toString(36)}-${head.bytes.toString(36)}.part`;
  const have = await sizeOf(part);
  if (have > head.bytes) await rm(part, { force: true });
  const start = have > head.bytes ? 0 : have;
  if (start < head.bytes || head.bytes === 0) {
    const { GetObjectCommand } = await import("@aws-sdk/client-s3");
    const client = await aws.s3();
    const range = head.bytes === 0 || start === 0 ? {} : { Range: `bytes=${start}-` };
    const answer = await client.send(
      new GetObjectCommand({ Bucket: bucket.name, Key: head.key, ...range }),
      signal === undefined ? {} : { abortSignal: signal },
    );
    const body = answer.Body instanceof Readable ? answer.Body : Readable.from([]);
    const file = createWriteStream(part, { flags: "a", flush: true });
    const closed = new Promise<void>((done) => file.once("close", () => done()));
    try {
      await pipeline(body, file, signal === undefined ? {} : { signal });
    } finally {
      // A write that was under way lands all the same: who asks again at once must find it done.
      await closed;
    }
  }
  await verify(head, part, bucket);
  await rename(part, to);
  await syncFolder(dirname(to));
}

async function verify(head: ObjectHead, part: string, bucket: Bucket): Promise<void> {
  const size = await sizeOf(part);
  const isRight = size === head.bytes && (head.sha256 === null || (await sha256File(part)) === head.sha256);
  if (isRight) return;
  await rm(part, { force: true });
  throw new RemoteError(
    "ARTIFACT_CHANGED",
    `What came of s3://${bucket.name}/${head.key} is not what it says: ${size} of ${head.bytes} bytes, or another SHA-256`,
    { hint: "ask again: it is fetched anew" },
  );
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (systemCode(error) === "ENOENT") return 0;
    throw error;
  }
}
