import { z } from "zod";
import type { Answer } from "./faults.ts";
import {
  addCommit,
  commitAt,
  newRepository,
  pointerTo,
  storeBlob,
  type Commit,
  type Repository,
  type StoredFile,
} from "./repository.ts";
import { failure, json, visible, type HubState, type Received } from "./hub-state.ts";

/** `/api/…`: what the client asks of the Hub itself. Undefined for a path that this Hub does not know. */
export const apiRoute = (state: HubState, received: Received): Answer | undefined => {
  const { method, url } = received;
  if (method === "POST" && url.pathname === "/api/repos/create") return createRepository(state, received);
  const match = /^\/api\/datasets\/([^/]+\/[^/]+)(?:\/([a-z-]+)\/([^/]+))?$/.exec(url.pathname);
  if (!match) return undefined;
  const [, id = "", verb = "", encoded = "main"] = match;
  const repository = visible(state, received, id);
  if (!repository) return failure(received.authorized ? 404 : 401, "RepoNotFound", "Repository not found");
  const revision = decodeURIComponent(encoded);
  if (verb === "branch") return createBranch(repository, revision);
  const commit = commitAt(repository, revision);
  if (!commit) return failure(404, "RevisionNotFound", `Invalid rev id: ${encoded}`);
  return ROUTES[`${method} ${verb}`]?.({ state, received, repository, branch: revision, commit });
};

interface Scene {
  readonly state: HubState;
  readonly received: Received;
  readonly repository: Repository;
  readonly branch: string;
  /** What the revision stands for. */
  readonly commit: Commit;
}

const info = ({ repository, commit }: Scene): Answer =>
  json({ id: repository.id, private: repository.isPrivate, sha: commit.oid });

const ROUTES: Readonly<Record<string, (scene: Scene) => Answer>> = {
  "GET ": info,
  "GET revision": info,
  "GET tree": listTree,
  "POST paths-info": ({ received, commit }) => {
    const { paths } = z.object({ paths: z.array(z.string()) }).parse(JSON.parse(received.text()));
    return json(paths.flatMap((path) => entry(path, commit.files.get(path))));
  },
  "POST preupload": ({ state, received }) => preupload(state, received),
  "POST commit": makeCommit,
};

function createRepository(state: HubState, received: Received): Answer {
  const body = z
    .object({
      name: z.string(),
      organization: z.string(),
      type: z.literal("dataset"),
      visibility: z.enum(["private", "public"]),
    })
    .parse(JSON.parse(received.text()));
  if (!received.authorized) return failure(401, null, "Invalid credentials in Authorization header");
  const id = `${body.organization}/${body.name}`;
  if (state.repositories.has(id)) return failure(409, null, "You already created this dataset repo");
  state.repositories.set(id, newRepository(id, body.visibility === "private"));
  return json({ url: `${state.url}/datasets/${id}`, id });
}

function createBranch(repository: Repository, name: string): Answer {
  if (repository.branches.has(name)) return failure(409, null, "Reference already exists");
  repository.branches.set(name, repository.branches.get("main") ?? "");
  return json({});
}

function listTree({ state, received: { url }, commit }: Scene): Answer {
  const start = Number(url.searchParams.get("cursor") ?? 0);
  const all = [...commit.files].flatMap(([path, file]) => entry(path, file));
  const folders = [
    ...new Set(
      [...commit.files.keys()]
        .filter((path) => path.includes("/"))
        .map((path) => path.slice(0, path.lastIndexOf("/"))),
    ),
  ];
  const entries = [
    ...folders.map((path) => ({ type: "directory", oid: "0".repeat(40), size: 0, path })),
    ...all,
  ];
  const next = start + state.pageSize;
  if (next >= entries.length) return json(entries.slice(start));
  const link = new URL(url);
  link.searchParams.set("cursor", String(next));
  const target = state.relativeLinks ? `${link.pathname}${link.search}` : link.href;
  return json(entries.slice(start, next), { link: `<${target}>; rel="next"` });
}

function entry(path: string, file: StoredFile | undefined): object[] {
  if (!file) return [];
  const lfs = file.lfs === null ? {} : { lfs: { oid: file.lfs, size: file.size, pointerSize: 130 } };
  return [{ type: "file", oid: file.gitOid, size: file.size, path, ...lfs }];
}

function preupload(state: HubState, received: Received): Answer {
  const { files } = z
    .object({ files: z.array(z.object({ path: z.string(), size: z.int(), sample: z.base64() })).max(100) })
    .parse(JSON.parse(received.text()));
  const isLarge = (path: string, size: number): boolean =>
    path.endsWith(".parquet") || size > state.regularBytes;
  return json({
    files: files.map(({ path, size }) => ({ path, uploadMode: isLarge(path, size) ? "lfs" : "regular" })),
  });
}

const Line = z.discriminatedUnion("key", [
  z.object({
    key: z.literal("header"),
    value: z.object({ summary: z.string(), parentCommit: z.string().optional() }),
  }),
  z.object({
    key: z.literal("file"),
    value: z.object({ path: z.string(), content: z.base64(), encoding: z.literal("base64") }),
  }),
  z.object({
    key: z.literal("lfsFile"),
    value: z.object({ path: z.string(), algo: z.literal("sha256"), size: z.int(), oid: z.string() }),
  }),
  z.object({ key: z.literal("deletedFile"), value: z.object({ path: z.string() }) }),
]);

function makeCommit({ state, received, repository, branch, commit: head }: Scene): Answer {
  if (!received.authorized) return failure(401, null, "Invalid credentials in Authorization header");
  if (received.header("content-type") !== "application/x-ndjson") return failure(400, null, "not NDJSON");
  const [header, ...operations] = received
    .text()
    .split("\n")
    .map((line) => Line.parse(JSON.parse(line)));
  if (header?.key !== "header") return failure(400, null, "no header");
  const { parentCommit, summary } = header.value;
  if (parentCommit === undefined) return failure(400, null, "this Hub insists on a parent");
  if (parentCommit !== head.oid)
    return failure(412, null, "A commit has happened since. Please refresh and try again.");
  const files = operations.filter(({ key }) => key !== "deletedFile");
  if (files.length > state.filesPerCommit) return failure(413, null, "too many files");
  for (const operation of operations) {
    if (operation.key !== "lfsFile") continue;
    const stored = repository.large.get(operation.value.oid);
    if (stored?.length !== operation.value.size)
      return failure(
        400,
        null,
        `LFS pointer of ${operation.value.path} pointed to a file that does not exist`,
      );
  }
  const commit = addCommit(repository, { branch, title: summary }, (tree) => {
    for (const operation of operations) {
      if (operation.key === "file") {
        const content = Buffer.from(operation.value.content, "base64");
        tree.set(operation.value.path, storeBlob(repository, content));
      } else if (operation.key === "lfsFile") {
        tree.set(operation.value.path, pointerTo(repository, operation.value.oid));
      } else if (operation.key === "deletedFile" && !tree.delete(operation.value.path)) {
        throw new Error(`${operation.value.path} was deleted, and is not there`);
      }
    }
  });
  return json({
    commitOid: commit.oid,
    commitUrl: `${state.url}/datasets/${repository.id}/commit/${commit.oid}`,
    success: true,
  });
}
