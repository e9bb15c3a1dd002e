import {
  CreateBucketCommand,
  GetObjectCommand,
  paginateListObjectsV2,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

export const CREDENTIALS = {
  accessKeyId: "AKIATESTTESTTESTTEST",
  secretAccessKey: "planted-aws-secret-key-0001",
};
export const REGION = "us-east-1";

/** A bucket as the service itself uses it: folders copied down and up, without any fault in between. */
export interface ServiceBucket {
  readonly client: S3Client;
  create(bucket: string): Promise<void>;
  list(bucket: string, prefix: string): Promise<readonly string[]>;
  text(bucket: string, key: string): Promise<string>;
  put(bucket: string, key: string, body: string | Uint8Array): Promise<void>;
  /** Everything below a prefix, into a folder. */
  down(uri: string, folder: string): Promise<void>;
  /** Files that changed since the last time, by size and time. */
  up(folder: string, uri: string, known: Map<string, string>): Promise<void>;
}

export const serviceBucket = (endpoint: string): ServiceBucket => {
  const client = new S3Client({ endpoint, region: REGION, credentials: CREDENTIALS, forcePathStyle: true });
  const list = async (bucket: string, prefix: string): Promise<readonly string[]> => {
    const keys: string[] = [];
    for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix }))
      for (const { Key } of page.Contents ?? []) if (Key !== undefined) keys.push(Key);
    return keys;
  };
  const bytes = async (bucket: string, key: string): Promise<Uint8Array> => {
    const answer = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
    return (await answer.Body?.transformToByteArray()) ?? new Uint8Array();
  };
  const put: ServiceBucket["put"] = async (bucket, key, body) => {
    await client.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: body }));
  };
  return {
    client,
    list,
    put,
    create: async (bucket) => {
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
    },
    text: async (bucket, key) => Buffer.from(await bytes(bucket, key)).toString(),
    down: async (uri, folder) => {
      const { bucket, key } = partsOf(uri);
      for (const one of await list(bucket, key)) {
        const path = join(folder, one.slice(key.length));
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, await bytes(bucket, one));
      }
    },
    up: async (folder, uri, known) => {
      const { bucket, key } = partsOf(uri);
      for (const path of await filesBelow(folder)) {
        const seen = await stat(path).catch(() => undefined);
        const mark = seen === undefined ? undefined : `${seen.size} ${seen.mtimeMs}`;
        if (mark === undefined || known.get(path) === mark || /(^|\/)\.[^/]*$/.test(path)) continue;
        const body = await readFile(path).catch(() => undefined);
        if (body === undefined) continue;
        await put(bucket, key + relative(folder, path), body);
        known.set(path, mark);
      }
    },
  };
};

/** `s3://bucket/key/` as its parts. */
export const partsOf = (uri: string): { readonly bucket: string; readonly key: string } => {
  const [, bucket = "", key = ""] = /^s3:\/\/([^/]+)\/(.*)$/.exec(uri) ?? [];
  return { bucket, key };
};

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
