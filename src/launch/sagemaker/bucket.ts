import type { Aws } from "./aws.ts";
import { faultOf } from "./faults.ts";

export interface StoredObject {
  readonly key: string;
  readonly bytes: number;
  /** Milliseconds since the epoch. */
  readonly modifiedAt: number;
}

export interface ObjectHead extends StoredObject {
  /** Of the whole object, by checksum of the store or by what its writer has noted; null when neither is there. */
  readonly sha256: string | null;
}

/** One bucket. Keys are full keys. Errors are the provider's, see `faultOf`. */
export interface Bucket {
  readonly name: string;
  /** Undefined when there is no such object. */
  head(key: string): Promise<ObjectHead | undefined>;
  /** Bytes [start, end), fewer where the object ends before; undefined when there is no such object. */
  read(key: string, start?: number, end?: number): Promise<Uint8Array | undefined>;
  readText(key: string): Promise<string | undefined>;
  /** False when `onlyNew` and there was one already, whoever was first. */
  write(key: string, text: string, options?: { readonly onlyNew: boolean }): Promise<boolean>;
  /** Objects below a folder, in the order of their keys. */
  list(folder: string): Promise<readonly StoredObject[]>;
  /** Names of the folders directly below a folder. */
  folders(folder: string): Promise<readonly string[]>;
  remove(key: string): Promise<void>;
}

/** `kmsKey` encrypts what is written here; null: the bucket's own setting. */
export const openBucket = (aws: Aws, name: string, kmsKey: string | null): Bucket => ({
  name,
  head: async (key) => {
    const { HeadObjectCommand } = await import("@aws-sdk/client-s3");
    const client = await aws.s3();
    const answer = await present(async () =>
      client.send(new HeadObjectCommand({ Bucket: name, Key: key, ChecksumMode: "ENABLED" })),
    );
    if (answer === undefined) return undefined;
    return {
      key,
      bytes: answer.ContentLength ?? 0,
      modifiedAt: answer.LastModified?.getTime() ?? 0,
      // Ours first: the store's checksum of an object in parts is one of its parts' checksums.
      sha256:
        answer.Metadata?.["sha256"] ??
        hexOf(answer.ChecksumType === "COMPOSITE" ? undefined : answer.ChecksumSHA256) ??
        null,
    };
  },
  read: async (key, start = 0, end) => readRange(aws, { bucket: name, key, start, end }),
  readText: async (key) => {
    const bytes = await readRange(aws, { bucket: name, key, start: 0, end: undefined });
    return bytes === undefined ? undefined : Buffer.from(bytes).toString("utf8");
  },
  write: async (key, text, { onlyNew } = { onlyNew: false }) => {
    const { PutObjectCommand } = await import("@aws-sdk/client-s3");
    const client = await aws.s3();
    try {
      await client.send(
        new PutObjectCommand({
          Bucket: name,
          Key: key,
          Body: text,
          ChecksumAlgorithm: "SHA256",
          ...(onlyNew ? { IfNoneMatch: "*" } : {}),
          ...encryption(kmsKey),
        }),
      );
      return true;
    } catch (error) {
      if (
        onlyNew &&
        error instanceof Error &&
        ["PreconditionFailed", "ConditionalRequestConflict"].includes(error.name)
      )
        return false;
      throw error;
    }
  },
  list: async (folder) => {
    const { paginateListObjectsV2 } = await import("@aws-sdk/client-s3");
    const client = await aws.s3();
    const found: StoredObject[] = [];
    for await (const page of paginateListObjectsV2({ client }, { Bucket: name, Prefix: `${folder}/` })) {
      for (const { Key: key, Size: bytes = 0, LastModified } of page.Contents ?? []) {
        // Consoles make empty objects that stand for folders.
        if (key !== undefined && !key.endsWith("/"))
          found.push({ key, bytes, modifiedAt: LastModified?.getTime() ?? 0 });
      }
    }
    return found;
  },
  folders: async (folder) => {
    const { paginateListObjectsV2 } = await import("@aws-sdk/client-s3");
    const client = await aws.s3();
    const query = { Bucket: name, Prefix: `${folder}/`, Delimiter: "/" };
    const found: string[] = [];
    for await (const page of paginateListObjectsV2({ client }, query)) {
      for (const { Prefix: prefix = "" } of page.CommonPrefixes ?? [])
        found.push(prefix.slice(folder.length + 1).replace(/\/$/, ""));
    }
    return found;
  },
  remove: async (key) => {
    const { DeleteObjectCommand } = await import("@aws-sdk/client-s3");
    const client = await aws.s3();
    await client.send(new DeleteObjectCommand({ Bucket: name, Key: key }));
  },
});

/** Settings of a write that ask for encryption with a key of the profile. */
export const encryption = (
  kmsKey: string | null,
): { readonly ServerSideEncryption?: "aws:kms"; readonly SSEKMSKeyId?: string } =>
  kmsKey === null ? {} : { ServerSideEncryption: "aws:kms", SSEKMSKeyId: kmsKey };

async function readRange(
  aws: Aws,
  what: {
    readonly bucket: string;
    readonly key: string;
    readonly start: number;
    readonly end: number | undefined;
  },
): Promise<Uint8Array | undefined> {
  const { bucket, key, start, end } = what;
  if (end !== undefined && end <= start) return new Uint8Array();
  const { GetObjectCommand } = await import("@aws-sdk/client-s3");
  const client = await aws.s3();
  const range =
    start === 0 && end === undefined ? {} : { Range: `bytes=${start}-${end === undefined ? "" : end - 1}` };
  try {
    const answer = await present(async () =>
      client.send(new GetObjectCommand({ Bucket: bucket, Key: key, ...range })),
    );
    return answer === undefined
      ? undefined
      : ((await answer.Body?.transformToByteArray()) ?? new Uint8Array());
  } catch (error) {
    // Behind the end of the object.
    if (error instanceof Error && error.name === "InvalidRange") return new Uint8Array();
    throw error;
  }
}

async function present<Answer>(call: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await call();
  } catch (error) {
    // A bucket that is not there is no missing object.
    if (faultOf(error) === "not-found" && !(error instanceof Error && error.name === "NoSuchBucket"))
      return undefined;
    throw error;
  }
}

function hexOf(base64: string | undefined): string | undefined {
  if (base64 === undefined || base64.includes("-")) return undefined;
  return Buffer.from(base64, "base64").toString("hex");
}
