import { readFile } from "node:fs/promises";
import { isAbsolute, join, normalize, sep } from "node:path";
import { z } from "zod";
import { UserError } from "../core/errors.ts";
import { exists, readJson, readJsonLines } from "../core/files.ts";
import { sha256 } from "../core/hash.ts";
import { byInstance, instanceKey } from "./instance-key.ts";
import { AnswerRow, type Instance, MeasureRow, ScoreRow, type SuiteId, type SuiteResult } from "./schema.ts";

/** Where the payload left the rows of one system on one suite; null where that kind was not asked for. */
export interface ResultFolders {
  readonly scores: string | null;
  readonly answers: string | null;
  readonly measures: string | null;
}

export interface ResultRequest {
  readonly system: string;
  readonly suite: SuiteId;
  /** Every role turn of the suite, from the data and not from the results. */
  readonly expected: readonly Instance[];
  readonly folders: ResultFolders;
}

const DoneMarker = z.object({ schemaVersion: z.literal(1), rows: z.int().nonnegative(), sha256: z.string() });

/**
 * The rows of a task's folders, checked against the instances that must be there. A missing row stays missing (coverage
 * counts it); a row that appears twice (`ROW_TWICE`), was not expected (`ROW_UNEXPECTED`) or differs from what its
 * `_DONE.json` promised (`ROWS_CHANGED`) is a UserError, because any of them would make a wrong number.
 */
export const readResults = async (request: ResultRequest): Promise<SuiteResult> => {
  const { system, suite, folders } = request;
  const expected = new Map(request.expected.map((instance) => [instanceKey(instance), instance]));
  const scores = await rowsOf(folders.scores, "scores.jsonl", ScoreRow);
  const answers = await rowsOf(folders.answers, "answers.jsonl", AnswerRow);
  const measures = await rowsOf(folders.measures, "measures.jsonl", MeasureRow);
  check(scores, expected, instanceKey, folders.scores);
  check(answers, expected, instanceKey, folders.answers);
  check(measures, expected, (row) => `${row.measure} of ${instanceKey(row)}`, folders.measures);
  for (const { audio } of answers) if (audio !== null) insideOnly(audio, folders.answers);
  return {
    system,
    suite,
    expected: request.expected.toSorted(byInstance),
    scores: scores.toSorted(byInstance),
    answers: answers.toSorted(byInstance),
    measures: measures.toSorted((a, b) => byInstance(a, b) || (a.measure < b.measure ? -1 : 1)),
    answersFolder: folders.answers ?? "",
  };
};

async function rowsOf<Schema extends z.ZodType>(
  folder: string | null,
  name: string,
  schema: Schema,
): Promise<readonly z.output<Schema>[]> {
  if (folder === null) return [];
  const path = join(folder, name);
  const done = join(folder, "_DONE.json");
  const { rows } = await readJsonLines(path, schema);
  if (!(await exists(done))) return rows;
  const marker = await readJson(done, DoneMarker);
  const whole = (await exists(path)) ? await readFile(path) : new Uint8Array();
  if (marker.rows !== rows.length || marker.sha256 !== sha256(whole)) {
    throw new UserError("ROWS_CHANGED", `${path} is not the file that ${done} was written for`, {
      hint: "delete this task folder and evaluate again; finished tasks are reused",
    });
  }
  return rows;
}

function check<Row extends Instance>(
  rows: readonly Row[],
  expected: ReadonlyMap<string, Instance>,
  keyOf: (row: Row) => string,
  folder: string | null,
): void {
  const found = new Set<string>();
  for (const row of rows) {
    const place = `turn ${row.turn} of dialogue ${row.dialogue} in ${folder ?? "the results"}`;
    const instance = expected.get(instanceKey(row));
    if (instance === undefined || !sameInstance(instance, row)) {
      throw new UserError("ROW_UNEXPECTED", `There is a row that the suite does not have: ${place}`, {
        hint: "the results belong to other data: evaluate again with the current dataset lock",
      });
    }
    if (found.has(keyOf(row))) {
      throw new UserError("ROW_TWICE", `There are two rows for ${place}`, {
        hint: "two processes wrote into one task folder: delete it and evaluate again",
      });
    }
    found.add(keyOf(row));
  }
}

const sameInstance = (a: Instance, b: Instance): boolean =>
  a.role === b.role && a.language === b.language && a.kind === b.kind;

// A row comes from another machine: it must not make the report publish some other file of this one.
function insideOnly(audio: string, folder: string | null): void {
  const path = normalize(audio);
  if (isAbsolute(audio) || path === ".." || path.startsWith(`..${sep}`)) {
    throw new UserError(
      "AUDIO_OUTSIDE",
      `An answer in ${folder ?? "the results"} names audio outside its folder: ${audio}`,
    );
  }
}
