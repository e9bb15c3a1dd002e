import { createHash, type Hash } from "node:crypto";

/** A file of a repository at one commit. */
export interface RemoteFile {
  readonly path: string;
  readonly bytes: number;
  /** SHA-256 of the content where the Hub says it (large files). */
  readonly sha256: string | null;
  /** The object id that git gives the content; of a large file it is that of a pointer, and says nothing. */
  readonly gitOid: string | null;
}

/** A hash that, fed with the content, gives `expectedDigest` of the file. */
export const hasherFor = ({ bytes, sha256 }: RemoteFile): Hash =>
  sha256 === null ? createHash("sha1").update(`blob ${bytes}\0`) : createHash("sha256");

/** What `hasherFor` must give; null when the Hub says neither hash. */
export const expectedDigest = ({ sha256, gitOid }: RemoteFile): string | null => sha256 ?? gitOid;

/** The id that git gives a small file's content. */
export const gitBlobOid = (content: Uint8Array): string =>
  createHash("sha1").update(`blob ${content.byteLength}\0`).update(content).digest("hex");
