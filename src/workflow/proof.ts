import { join } from "node:path";
import { z } from "zod";
import { scanCheckpoints, verifyCheckpoint } from "../checkpoint/index.ts";
import { exists, readIfExists } from "../core/files.ts";
import { sha256, sha256File } from "../core/hash.ts";
import type { RunLock } from "./run-lock.ts";

/** Whether what a job had to write is all there and sound, with the reason when it is not. */
export interface ProofResult {
  readonly holds: boolean;
  readonly detail: string;
}

export const checkProof = async (lock: RunLock): Promise<ProofResult> => {
  if (lock.proof.kind === "train") return trainProof(join(lock.job.runFolder, "output"), lock.proof.steps);
  const findings = await Promise.all(lock.proof.tasks.map(taskProof));
  const missing = findings.filter((finding) => !finding.holds);
  return missing[0] ?? { holds: true, detail: `${findings.length} tasks are done` };
};

async function trainProof(output: string, steps: number): Promise<ProofResult> {
  const found = (await scanCheckpoints(output)).find(({ step }) => step === steps);
  if (!found) return { holds: false, detail: `there is no checkpoint of the last step ${steps}` };
  if (!found.complete)
    return { holds: false, detail: `checkpoint ${steps} is not complete: ${found.reason}` };
  const [problem] = await verifyCheckpoint(found.folder, found.marker, { digests: true });
  if (problem) return { holds: false, detail: `checkpoint ${steps}: ${problem.path}: ${problem.problem}` };
  return { holds: true, detail: `checkpoint ${steps} is complete and verified` };
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

/** A task folder is finished when `_DONE.json` names the rows that are expected and the very bytes that are there. */
export const taskProof = async ({ folder, file, rows, answers }: Task): Promise<ProofResult> => {
  const marker = Done.safeParse(parsed(await readIfExists(join(folder, DONE))));
  if (!marker.success) return { holds: false, detail: `${folder} is not finished` };
  if (rows !== null && marker.data.rows !== rows) {
    return { holds: false, detail: `${folder} has ${marker.data.rows} rows, ${rows} are expected` };
  }
  const text = (await readIfExists(join(folder, file))) ?? "";
  if (sha256(text) !== marker.data.sha256)
    return { holds: false, detail: `${join(folder, file)} changed after it was finished` };
  if (file === ANSWERS) {
    const clip = await changedClip(folder, text);
    if (clip !== undefined)
      return { holds: false, detail: `${clip} is gone or changed after it was finished` };
  }
  if (answers !== null && !(await areOf(answers, marker.data))) {
    return { holds: false, detail: `${folder} was measured on other answers than ${answers} holds now` };
  }
  return { holds: true, detail: `${folder} is finished` };
};

const ANSWERS = "answers.jsonl";
const Clip = z.object({ audio: z.string().nullable(), sha256: z.string().nullable() });

// An answer is its sound as well as its row.
async function changedClip(folder: string, text: string): Promise<string | undefined> {
  for (const line of text.split("\n")) {
    const row = Clip.safeParse(parsed(line));
    if (!row.success || row.data.audio === null) continue;
    const path = join(folder, row.data.audio);
    if (!(await exists(path)) || (await sha256File(path)) !== row.data.sha256) return path;
  }
  return undefined;
}

async function areOf(answers: string, { answersSha256 }: Done): Promise<boolean> {
  const text = await readIfExists(join(answers, ANSWERS));
  return text !== undefined && sha256(text) === answersSha256;
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  } catch {
    return undefined;
  }
}
