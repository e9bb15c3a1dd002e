import { join } from "node:path";
import { z } from "zod";
import { isoTime, type Clock } from "../../core/clock.ts";
import { appendJsonLine, readJsonLines, writeAtomic } from "../../core/files.ts";
import type { Project } from "../../core/project.ts";
import { sha256 } from "../../core/hash.ts";
import type { Batch, PushPlan } from "./push-plan.ts";

const Entry = z.discriminatedUnion("event", [
  z.strictObject({
    at: z.string(),
    event: z.literal("plan"),
    lockSha256: z.string(),
    files: z.array(
      z.strictObject({
        path: z.string(),
        sha256: z.string(),
        bytes: z.int(),
        state: z.enum(["upload", "unchanged"]),
      }),
    ),
    deletions: z.array(z.string()),
  }),
  z.strictObject({
    at: z.string(),
    event: z.enum(["committing", "committed"]),
    /** Of `committing` the parent, of `committed` the new commit. */
    commit: z.string(),
    paths: z.array(z.string()),
    deletions: z.array(z.string()),
  }),
  z.strictObject({
    at: z.string(),
    event: z.literal("verified"),
    commit: z.string(),
    lockSha256: z.string(),
  }),
]);
type Entry = z.infer<typeof Entry>;

/** What was meant and what was done with one branch of one repository; each line is on disk before its effect. */
export interface PushJournal {
  /** Paths that pushes from here brought, or meant to bring, into the repository. */
  readonly owned: ReadonlySet<string>;
  plan(plan: PushPlan, lockSha256: string, files: readonly PlannedFile[]): Promise<void>;
  committing(parent: string, batch: Batch): Promise<void>;
  committed(commit: string, batch: Batch): Promise<void>;
  verified(commit: string, lockSha256: string): Promise<void>;
}

interface PlannedFile {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
}

export interface PushTarget {
  readonly hubUrl: string;
  readonly repo: string;
  readonly branch: string;
}

/** Where the journal of a target lies: a name people can read, and a digest that keeps targets apart. */
export const journalFile = (project: Project, name: string, target: PushTarget): string => {
  const key = sha256(`${target.hubUrl}\n${target.repo}\n${target.branch}`).slice(0, 12);
  return join(
    project.state,
    "datasets",
    "hub",
    `${name}.${target.repo.replace("/", "--")}.${key}.push.jsonl`,
  );
};

/** Opens a journal. A line that a kill tore is taken off, so that the next one stands alone. */
export const openPushJournal = async (path: string, clock: Clock): Promise<PushJournal> => {
  const { rows, torn } = await readJsonLines(path, Entry);
  if (torn > 0) await writeAtomic(path, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const owned = new Set(
    rows.flatMap((row) =>
      row.event === "plan"
        ? row.files.filter(({ state }) => state === "upload").map((file) => file.path)
        : [],
    ),
  );
  const append = async (entry: Entry): Promise<void> => appendJsonLine(path, entry);
  const at = (): string => isoTime(clock);
  const pathsOf = ({ files, deletions }: Batch): { paths: string[]; deletions: string[] } => ({
    paths: files.map((file) => file.path),
    deletions: [...deletions],
  });
  return {
    owned,
    plan: async ({ uploads, deletions }, lockSha256, files) => {
      const going = new Set(uploads.map((file) => file.path));
      await append({
        at: at(),
        event: "plan",
        lockSha256,
        files: files.map((file) => ({
          path: file.path,
          sha256: file.sha256,
          bytes: file.bytes,
          state: going.has(file.path) ? "upload" : "unchanged",
        })),
        deletions: [...deletions],
      });
    },
    committing: async (parent, batch) =>
      append({ at: at(), event: "committing", commit: parent, ...pathsOf(batch) }),
    committed: async (commit, batch) => append({ at: at(), event: "committed", commit, ...pathsOf(batch) }),
    verified: async (commit, lockSha256) => append({ at: at(), event: "verified", commit, lockSha256 }),
  };
};
