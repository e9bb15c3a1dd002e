import { z } from "zod";
import type { Answer } from "./faults.ts";
import { failure, json, visible, type HubState, type Received } from "./hub-state.ts";
import { commitAt, contentOf, sha256Of, type Repository } from "./repository.ts";

/** `/datasets/…` of the Hub: the list of what to upload, and the redirect to where a file lies. */
export const fileRoute = (state: HubState, received: Received): Answer | undefined => {
  const { method, url } = received;
  const batch = /^\/datasets\/([^/]+\/[^/]+)\.git\/info\/lfs\/objects\/batch$/.exec(url.pathname);
  if (batch) return uploadList(state, received, String(batch[1]));
  const match = /^\/datasets\/([^/]+\/[^/]+)\/resolve\/([^/]+)\/(.+)$/.exec(url.pathname);
  if (!match || method !== "GET") return undefined;
  const [id = "", revision = "", path = ""] = match.slice(1).map(decodeURIComponent);
  const repository = visible(state, received, id);
  if (!repository) return failure(received.authorized ? 404 : 401, "RepoNotFound", "Repository not found");
  const file = commitAt(repository, revision)?.files.get(path);
  if (!file) return failure(404, "EntryNotFound", "Entry not found");
  return file.lfs === null
    ? ranged(received, contentOf(repository, file))
    : elsewhere(`${state.storageUrl}/download/${id}/${file.lfs}`, file.size);
};

const elsewhere = (location: string, size: number): Answer => ({
  status: 302,
  headers: { location: `${location}?signature=secret-signature`, "x-linked-size": String(size) },
});

function uploadList(state: HubState, received: Received, id: string): Answer {
  const repository = state.repositories.get(id);
  if (!repository || !received.authorized)
    return failure(401, null, "Invalid credentials in Authorization header");
  const { objects, transfers } = z
    .object({
      transfers: z.array(z.string()),
      objects: z.array(z.object({ oid: z.string().regex(/^[0-9a-f]{64}$/), size: z.int() })).max(100),
    })
    .parse(JSON.parse(received.text()));
  if (!transfers.includes("basic")) return failure(422, null, "this Hub has no xet");
  const listed = objects.map(({ oid, size }) =>
    repository.large.has(oid)
      ? { oid, size }
      : { oid, size, actions: { upload: uploadAction(state, id, { oid, size }) } },
  );
  return json({ transfer: "basic", objects: listed }, { "content-type": "application/vnd.git-lfs+json" });
}

function uploadAction(state: HubState, id: string, { oid, size }: { oid: string; size: number }): object {
  const base = `${state.storageUrl}/upload/${id}/${oid}`;
  if (size <= state.multipartAbove) return { href: `${base}?signature=secret-signature` };
  const count = Math.ceil(size / state.partBytes);
  const parts = Array.from({ length: count }, (_, index) => [
    String(index + 1).padStart(5, "0"),
    `${base}/${index + 1}?signature=secret-signature`,
  ]);
  return {
    href: `${base}/complete`,
    header: { chunk_size: String(state.partBytes), ...Object.fromEntries(parts) },
  };
}

/** The other origin, where the bytes lie. Whoever brings a token here has leaked it. */
export const storageRoute = (state: HubState, received: Received): Answer | undefined => {
  const match = /^\/(upload|download)\/([^/]+\/[^/]+)\/([0-9a-f]{64})(?:\/(\d+|complete))?$/.exec(
    received.url.pathname,
  );
  const [, verb, id = "", oid = "", part] = match ?? [];
  const repository = state.repositories.get(id);
  if (!match || !repository) return undefined;
  if (received.header("authorization") !== undefined)
    return failure(400, null, "a token was sent to the storage");
  if (verb === "upload") return upload(state, received, { repository, oid, part });
  const content = repository.large.get(oid);
  return content ? ranged(received, content) : failure(404, null, "no such object");
};

function upload(
  state: HubState,
  received: Received,
  {
    repository,
    oid,
    part,
  }: { readonly repository: Repository; readonly oid: string; readonly part: string | undefined },
): Answer {
  if (received.method === "PUT" && received.header("content-length") === undefined)
    return failure(411, null, "MissingContentLength");
  if (part === undefined) return store(repository, oid, received.body);
  const parts = state.parts.get(oid) ?? new Map<number, Buffer>();
  state.parts.set(oid, parts);
  if (part === "complete") return complete(repository, oid, { parts, received });
  parts.set(Number(part), received.body);
  return { status: 200, headers: { etag: `"${sha256Of(received.body).slice(0, 16)}"` } };
}

function complete(
  repository: Repository,
  oid: string,
  { parts, received }: { readonly parts: Map<number, Buffer>; readonly received: Received },
): Answer {
  const body = z
    .object({
      oid: z.literal(oid),
      parts: z.array(z.object({ partNumber: z.int(), etag: z.string().min(1) })),
    })
    .parse(JSON.parse(received.text()));
  const chosen = body.parts.map(({ partNumber, etag }) => {
    const part = parts.get(partNumber);
    return part && etag === `"${sha256Of(part).slice(0, 16)}"` ? part : undefined;
  });
  if (chosen.includes(undefined)) return failure(404, null, "NoSuchUpload");
  parts.clear();
  return store(repository, oid, Buffer.concat(chosen.filter((part) => part !== undefined)));
}

function store(repository: Repository, oid: string, content: Buffer): Answer {
  if (sha256Of(content) !== oid) return failure(400, null, "the content is not what its oid says");
  repository.large.set(oid, content);
  return { status: 200, headers: { etag: `"${oid.slice(0, 16)}"` } };
}

function ranged(received: Received, content: Buffer): Answer {
  const [, from] = /^bytes=(\d+)-$/.exec(received.header("range") ?? "") ?? [];
  if (from === undefined) return { status: 200, headers: { "accept-ranges": "bytes" }, body: content };
  const start = Number(from);
  if (start >= content.length)
    return { status: 416, headers: { "content-range": `bytes */${content.length}` } };
  const range = `bytes ${start}-${content.length - 1}/${content.length}`;
  return { status: 206, headers: { "content-range": range }, body: content.subarray(start) };
}
