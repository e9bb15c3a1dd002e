import { PreflightError } from "../../core/errors.ts";
import { CARD_PATH, isSame, LOCK_PATH, type LocalFile, type PushFiles } from "./push-files.ts";
import { SPEC_PATH } from "./published-spec.ts";
import type { RemoteFile } from "./remote-file.ts";

/** At most this many files go into one commit: larger ones time out on the Hub. */
export const FILES_A_COMMIT = 50;

export interface Batch {
  readonly files: readonly LocalFile[];
  /** Paths. */
  readonly deletions: readonly string[];
}

export interface PushPlan {
  /** Commits in order; lock, card and deletions are in the last. Empty when the repository is up to date. */
  readonly batches: readonly Batch[];
  readonly uploads: readonly LocalFile[];
  readonly unchanged: number;
  /** Shards of an older push that the new card and lock do not know, and a spec that is not this lock's. */
  readonly deletions: readonly string[];
  readonly uploadBytes: number;
}

/** What has to change so that the repository holds exactly these files (others than shards are left alone). Pure. */
export const planPush = ({ shards, papers }: PushFiles, present: readonly RemoteFile[]): PushPlan => {
  const byPath = new Map(present.map((file) => [file.path, file]));
  const changed = (files: readonly LocalFile[]): LocalFile[] =>
    files.filter((file) => !isSame(file, byPath.get(file.path)));
  const wanted = new Set(shards.map(({ path }) => path));
  const isStale = (path: string): boolean =>
    isShardPath(path)
      ? !wanted.has(path)
      : path === SPEC_PATH && !papers.some((paper) => paper.path === path);
  const deletions = present.map(({ path }) => path).filter(isStale);
  const uploads = [...changed(shards), ...changed(papers)];
  return {
    batches: batchesOf(changed(shards), changed(papers), deletions.toSorted()),
    uploads,
    unchanged: shards.length + papers.length - uploads.length,
    deletions: deletions.toSorted(),
    uploadBytes: uploads.reduce((sum, { bytes }) => sum + bytes, 0),
  };
};

// What a reader of data/SPLIT-* would take in.
const isShardPath = (path: string): boolean =>
  /^data\/(train|dev|ood|test)-.*\.parquet$/.test(path) || /^data\/[^/]+-\d{5}-of-\d{5}\.parquet$/.test(path);

function batchesOf(
  shards: readonly LocalFile[],
  papers: readonly LocalFile[],
  deletions: readonly string[],
): Batch[] {
  const batches: Batch[] = [];
  let rest = shards;
  while (rest.length + papers.length > FILES_A_COMMIT) {
    batches.push({ files: rest.slice(0, FILES_A_COMMIT), deletions: [] });
    rest = rest.slice(FILES_A_COMMIT);
  }
  const last = { files: [...rest, ...papers], deletions };
  return last.files.length + deletions.length > 0 ? [...batches, last] : batches;
}

/**
 * Refuses to take over a repository that holds other data: shards would be deleted or a card written over that neither a
 * lock of ours nor the journal of this project accounts for. PreflightError `REPO_NOT_OURS`.
 */
export const requireOurs = (
  repo: string,
  { present, owned }: { readonly present: readonly RemoteFile[]; readonly owned: ReadonlySet<string> },
  plan: PushPlan,
): void => {
  const paths = present.map(({ path }) => path);
  if (paths.includes(LOCK_PATH)) return;
  const replaced = plan.uploads
    .map(({ path }) => path)
    .filter((path) => path !== CARD_PATH && paths.includes(path));
  const lost = [...plan.deletions, ...replaced].filter((path) => !owned.has(path));
  if (lost.length === 0) return;
  const shown = lost.slice(0, SHOWN).map((path) => `  ${path}`);
  const more = lost.length > SHOWN ? [`  and ${lost.length - SHOWN} more`] : [];
  throw new PreflightError(
    "REPO_NOT_OURS",
    `The repository ${repo} holds data that was not pushed from here, and would lose it:\n${[...shown, ...more].join("\n")}`,
    { hint: "push to another repository, or add --replace (the Hub keeps the older commits)" },
  );
};

const SHOWN = 5;
