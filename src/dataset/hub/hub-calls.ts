import { z } from "zod";
import { RemoteError, messageOf } from "../../core/errors.ts";
import { prettyIssues } from "../../core/issues.ts";
import { statusOf } from "./hub-fault.ts";
import type { HubWorld } from "./hub-world.ts";
import { encodedPath } from "./repo-id.ts";
import type { RemoteFile } from "./remote-file.ts";
import { retryingFetch } from "./retrying-fetch.ts";

const Info = z.object({ sha: z.string().regex(/^[0-9a-f]{40,64}$/), private: z.boolean().optional() });

export interface RepositoryState {
  /** The commit that the revision stands for. */
  readonly commit: string;
  /** Undefined when the Hub does not say. */
  readonly isPrivate: boolean | undefined;
}

/** What a branch, tag or commit stands for now. HubFault when there is no such repository or revision, or no right to it. */
export const resolveRevision = async (
  world: HubWorld,
  repo: string,
  revision: string,
): Promise<RepositoryState> => {
  const url = `${world.hubUrl}/api/datasets/${repo}/revision/${encodeURIComponent(revision)}`;
  const { value } = await getJson(world, url, Info);
  return { commit: value.sha, isPrivate: value.private };
};

/** As `resolveRevision`; undefined when the repository is not there, or not to be seen with this token (the Hub answers alike). */
export const findRepository = async (world: HubWorld, repo: string): Promise<RepositoryState | undefined> => {
  try {
    const { value } = await getJson(world, `${world.hubUrl}/api/datasets/${repo}`, Info);
    return { commit: value.sha, isPrivate: value.private };
  } catch (error) {
    if (statusOf(error) === 404 || (statusOf(error) === 401 && world.token === undefined)) return undefined;
    throw error;
  }
};

const TreeEntry = z.object({
  type: z.string(),
  path: z.string(),
  size: z.int().nonnegative().optional(),
  oid: z.string().optional(),
  lfs: z.object({ oid: z.string(), size: z.int().nonnegative() }).nullish(),
});
type TreeEntry = z.infer<typeof TreeEntry>;

/** All files of a commit, page by page. */
export const listFiles = async (world: HubWorld, repo: string, commit: string): Promise<RemoteFile[]> => {
  const first = `${world.hubUrl}/api/datasets/${repo}/tree/${encodeURIComponent(commit)}?recursive=true&expand=false`;
  const files = new Map<string, RemoteFile>();
  const seen = new Set<string>();
  for (let url: string | undefined = first; url !== undefined;) {
    if (seen.has(url)) throw new RemoteError("HUB_REPLY", `The list of files of ${repo} goes in a circle`);
    seen.add(url);
    const { value, headers }: JsonReply<TreeEntry[]> = await getJson(world, url, z.array(TreeEntry));
    for (const entry of value) if (entry.type === "file") files.set(entry.path, fileOf(entry));
    url = nextPage(headers.get("link"), url);
  }
  return [...files.values()];
};

/** What the Hub says of an entry of a tree, or of a path. */
export const fileOf = ({ path, size = 0, oid, lfs }: Omit<TreeEntry, "type">): RemoteFile =>
  lfs
    ? { path, bytes: lfs.size, sha256: lfs.oid.replace(/^sha256:/, ""), gitOid: null }
    : { path, bytes: size, sha256: null, gitOid: oid ?? null };

// An absolute or a relative link; the token would not follow it to another host.
function nextPage(link: string | null, from: string): string | undefined {
  for (const part of (link ?? "").split(/,(?=\s*<)/)) {
    const [, target] = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(part) ?? [];
    if (target !== undefined) return new URL(target, from).href;
  }
  return undefined;
}

/** The paths of these that are in the commit. Asked in portions. */
export const pathsInfo = async (
  world: HubWorld,
  { repo, commit }: { readonly repo: string; readonly commit: string },
  paths: readonly string[],
): Promise<Map<string, RemoteFile>> => {
  const { pathsInfo: ask } = await import("@huggingface/hub");
  const found = new Map<string, RemoteFile>();
  for (let start = 0; start < paths.length; start += PATHS_AT_ONCE) {
    const answer = await ask({
      repo: { type: "dataset", name: repo },
      paths: paths.slice(start, start + PATHS_AT_ONCE),
      revision: commit,
      hubUrl: world.hubUrl,
      fetch: retryingFetch(world),
      ...(world.token === undefined ? {} : { accessToken: world.token }),
    });
    for (const entry of z.array(TreeEntry).parse(answer)) found.set(entry.path, fileOf(entry));
  }
  return found;
};

const PATHS_AT_ONCE = 100;

/** Where the content of a file is. */
export const contentUrl = (
  { hubUrl }: HubWorld,
  { repo, commit }: { readonly repo: string; readonly commit: string },
  path: string,
): string => `${hubUrl}/datasets/${repo}/resolve/${commit}/${encodedPath(path)}`;

/** The header that says who asks. */
export const authorization = ({ token }: HubWorld): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

interface JsonReply<Value> {
  readonly value: Value;
  readonly headers: Headers;
}

async function getJson<Schema extends z.ZodType>(
  world: HubWorld,
  url: string,
  schema: Schema,
): Promise<JsonReply<z.output<Schema>>> {
  const reply = await retryingFetch(world)(url, {
    headers: { accept: "application/json", ...authorization(world) },
  });
  const where = new URL(url).pathname;
  let value: unknown;
  try {
    value = await reply.json();
  } catch (error) {
    throw new RemoteError("HUB_REPLY", `The Hub's answer for ${where} is not JSON: ${messageOf(error)}`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return { value: parsed.data, headers: reply.headers };
  throw new RemoteError(
    "HUB_REPLY",
    `The Hub's answer for ${where} was not understood:\n${prettyIssues(parsed.error, value)}`,
  );
}
