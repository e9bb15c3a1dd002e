import { createHash } from "node:crypto";

/** A file of a commit: in git itself, or as a pointer to the large-file store. */
export interface StoredFile {
  readonly size: number;
  readonly gitOid: string;
  /** SHA-256 of a large file. */
  readonly lfs: string | null;
}

export interface Commit {
  readonly oid: string;
  readonly title: string;
  readonly parent: string | null;
  readonly files: ReadonlyMap<string, StoredFile>;
  /** Paths that this commit added or changed, and how many it deleted. */
  readonly changed: readonly string[];
  readonly deleted: readonly string[];
}

export interface Repository {
  readonly id: string;
  isPrivate: boolean;
  readonly commits: Map<string, Commit>;
  readonly branches: Map<string, string>;
  readonly blobs: Map<string, Buffer>;
  /** Large files by SHA-256. */
  readonly large: Map<string, Buffer>;
}

const hash = (kind: "sha1" | "sha256", data: Buffer | string): string =>
  createHash(kind).update(data).digest("hex");

export const sha256Of = (data: Buffer): string => hash("sha256", data);

/** A repository as the Hub makes it: one commit with `.gitattributes`. */
export const newRepository = (id: string, isPrivate: boolean): Repository => {
  const repository: Repository = {
    id,
    isPrivate,
    commits: new Map(),
    branches: new Map(),
    blobs: new Map(),
    large: new Map(),
  };
  const attributes = storeBlob(repository, Buffer.from("*.parquet filter=lfs diff=lfs merge=lfs -text\n"));
  addCommit(repository, { branch: "main", title: "initial commit" }, (files) =>
    files.set(".gitattributes", attributes),
  );
  return repository;
};

export const storeBlob = (repository: Repository, content: Buffer): StoredFile => {
  const gitOid = hash("sha1", Buffer.concat([Buffer.from(`blob ${content.length}\0`), content]));
  repository.blobs.set(gitOid, content);
  return { size: content.length, gitOid, lfs: null };
};

/** A pointer to a large file; its content must be in the store. */
export const pointerTo = (repository: Repository, sha256: string): StoredFile => {
  const content = repository.large.get(sha256);
  if (!content) throw new Error(`no large file ${sha256}`);
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${sha256}\nsize ${content.length}\n`;
  return { size: content.length, gitOid: hash("sha1", `blob ${pointer.length}\0${pointer}`), lfs: sha256 };
};

/** Puts a large file under a path, without any request: for repositories that stand there already. */
export const putLarge = (repository: Repository, path: string, content: Buffer): void => {
  const sha256 = sha256Of(content);
  repository.large.set(sha256, content);
  addCommit(repository, { branch: "main", title: path }, (files) =>
    files.set(path, pointerTo(repository, sha256)),
  );
};

/** As `putLarge` for a small file. */
export const putSmall = (repository: Repository, path: string, text: string): void => {
  const file = storeBlob(repository, Buffer.from(text));
  addCommit(repository, { branch: "main", title: path }, (files) => files.set(path, file));
};

/** Makes a commit on a branch out of its head's files after `change`. */
export const addCommit = (
  repository: Repository,
  { branch, title }: { readonly branch: string; readonly title: string },
  change: (files: Map<string, StoredFile>) => unknown,
): Commit => {
  const parent = repository.branches.get(branch) ?? null;
  const before = (parent === null ? undefined : repository.commits.get(parent))?.files ?? new Map();
  const files = new Map<string, StoredFile>(before);
  change(files);
  const changed = [...files]
    .filter(([path, file]) => before.get(path)?.gitOid !== file.gitOid)
    .map(([path]) => path);
  const deleted = [...before.keys()].filter((path) => !files.has(path));
  const oid = hash("sha1", `${repository.id} ${repository.commits.size} ${title}`);
  const commit = { oid, title, parent, files, changed, deleted };
  repository.commits.set(oid, commit);
  repository.branches.set(branch, oid);
  return commit;
};

/** The commit that a branch or commit id stands for. */
export const commitAt = (repository: Repository, revision: string): Commit | undefined =>
  repository.commits.get(repository.branches.get(revision) ?? revision);

/** Content of a file. */
export const contentOf = (repository: Repository, file: StoredFile): Buffer => {
  const content = file.lfs === null ? repository.blobs.get(file.gitOid) : repository.large.get(file.lfs);
  if (!content) throw new Error(`no content for ${file.gitOid}`);
  return content;
};
