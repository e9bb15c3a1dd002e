import { join } from "node:path";
import { z } from "zod";
import { findCheckpoints, verifyListed } from "../checkpoint/index.ts";
import { UnderstudyError } from "../core/errors.ts";
import { exists, readIfExists } from "../core/files.ts";
import { sha256, sha256File } from "../core/hash.ts";
import { bytesOf, HASHED_AT_ONCE, type RunFiles } from "./collect-checkpoints.ts";
import type { RunLock } from "./run-lock.ts";

/** Whether what a job had to write is all there and sound, with the reason when it is not. */
export interface ProofResult {
  readonly holds: boolean;
  readonly detail: string;
}

/**
 * The proof of a run, looked for where its files lie and without a download. On another machine checkpoints above 4 GB are
 * proven by the sizes of all files and the headers of the weights; their digests are for `checkpoint verify`.
 */
export const checkProof = async (lock: RunLock, where: RunFiles): Promise<ProofResult> => {
  if (lock.proof.kind === "train") return trainProof(where, lock.proof.steps);
  const files = where.ref.kind === "local" ? HERE : filesOf(where, lock.job.runFolder);
  const findings = await Promise.all(lock.proof.tasks.map(async (task) => taskProof(task, files)));
  const missing = findings.filter((finding) => !finding.holds);
  return missing[0] ?? { holds: true, detail: `${findings.length} tasks are done` };
};

async function trainProof({ files, ref }: RunFiles, steps: number): Promise<ProofResult> {
  const found = (await findCheckpoints(files, "output")).find(({ checkpoint }) => checkpoint.step === steps);
  if (!found) return { holds: false, detail: `there is no checkpoint of the last step ${steps}` };
  const { checkpoint, sizes } = found;
  if (!checkpoint.complete)
    return { holds: false, detail: `checkpoint ${steps} is not complete: ${checkpoint.reason}` };
  const { folder, marker } = checkpoint;
  const isHashed = ref.kind === "local" || bytesOf(marker) <= HASHED_AT_ONCE;
  const verified = await verifyListed(files, { folder, sizes, marker }, { digests: isHashed });
  const [problem] = verified.problems;
  if (problem) return { holds: false, detail: `checkpoint ${steps}: ${problem.path}: ${problem.problem}` };
  const how = verified.digests ? "verified" : "verified by size";
  return { holds: true, detail: `checkpoint ${steps} is complete and ${how}` };
}

/** The payload writes it last into a task's folder. */
export const DONE = "_DONE.json";

const Done = z.object({
  schemaVersion: z.literal(1),
  rows: z.int().nonnegative(),
  sha256: z.string(),
  /** Of measures: the answers they were taken of. */
  answersSha256: z.string().optional(),
});
type Done = z.infer<typeof Done>;

type Task = Extract<RunLock["proof"], { kind: "tasks" }>["tasks"][number];

/** Files of task folders by absolute path. */
interface TaskFiles {
  /** Undefined when there is no such file. */
  text(path: string): Promise<string | undefined>;
  /** SHA-256, or undefined when there is no such file. */
  digest(path: string): Promise<string | undefined>;
}

const HERE: TaskFiles = {
  text: readIfExists,
  digest: async (path) => ((await exists(path)) ? sha256File(path) : undefined),
};

// Paths in a job's lock are those of the machine that ran it; what lies outside of the run's folder cannot be looked at.
function filesOf({ files }: RunFiles, runFolder: string): TaskFiles {
  const prefix = runFolder.endsWith("/") ? runFolder : `${runFolder}/`;
  const inside = async <Found>(
    path: string,
    ask: (path: string) => Promise<Found>,
  ): Promise<Found | undefined> => {
    if (!path.startsWith(prefix)) return undefined;
    try {
      return await ask(path.slice(prefix.length));
    } catch (error) {
      if (error instanceof UnderstudyError && error.code === "ARTIFACT_MISSING") return undefined;
      throw error;
    }
  };
  return {
    text: async (path) => inside(path, async (at) => Buffer.from(await files.read(at)).toString("utf8")),
    digest: async (path) =>
      inside(path, async (at) => (await files.digest(at)) ?? sha256(await files.read(at))),
  };
}

/** A task folder is finished when `_DONE.json` names the rows that are expected and the very bytes that are there. */
export const taskProof = async (
  { folder, file, rows, answers }: Task,
  files: TaskFiles = HERE,
): Promise<ProofResult> => {
  const marker = Done.safeParse(parsed(await files.text(join(folder, DONE))));
  if (!marker.success) return { holds: false, detail: `${folder} is not finished` };
  if (rows !== null && marker.data.rows !== rows) {
    return { holds: false, detail: `${folder} has ${marker.data.rows} rows, ${rows} are expected` };
  }
  const text = (await files.text(join(folder, file))) ?? "";
  if (sha256(text) !== marker.data.sha256)
    return { holds: false, detail: `${join(folder, file)} changed after it was finished` };
  if (file === ANSWERS) {
    const clip = await changedClip(files, folder, text);
    if (clip !== undefined)
      return { holds: false, detail: `${clip} is gone or changed after it was finished` };
  }
  if (answers !== null && !(await areOf(files, answers, marker.data))) {
    return { holds: false, detail: `${folder} was measured on other answers than ${answers} holds now` };
  }
  return { holds: true, detail: `${folder} is finished` };
};

const ANSWERS = "answers.jsonl";
const Clip = z.object({ audio: z.string().nullable(), sha256: z.string().nullable() });

// An answer is its sound as well as its row.
async function changedClip(files: TaskFiles, folder: string, text: string): Promise<string | undefined> {
  for (const line of text.split("\n")) {
    const row = Clip.safeParse(parsed(line));
    if (!row.success || row.data.audio === null) continue;
    const path = join(folder, row.data.audio);
    if ((await files.digest(path)) !== row.data.sha256) return path;
  }
  return undefined;
}

async function areOf(files: TaskFiles, answers: string, { answersSha256 }: Done): Promise<boolean> {
  const text = await files.text(join(answers, ANSWERS));
  return text !== undefined && sha256(text) === answersSha256;
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}
