import { dirname, isAbsolute, join, relative, sep } from "node:path";
import { stat } from "node:fs/promises";
import { UserError } from "../../core/errors.ts";
import { exists, readIfExists, writeAtomic } from "../../core/files.ts";
import type { Project } from "../../core/project.ts";
import type { RoleEntry } from "../schema.ts";
import { readRoles } from "../source/roles.ts";
import type { Defect } from "./defects.ts";
import { formsOf, type Form } from "./find-form.ts";
import { likelyHeldOut, newSpec, sessionsOf } from "./new-spec.ts";
import { roleEntries } from "./role-facts.ts";
import { scanManifest } from "./scan-records.ts";
import { scanRelease } from "./scan-release.ts";
import { scanParquet } from "./scan-tables.ts";
import type { FileCount, Scan, ScanOptions } from "./scan.ts";
import { PUBLISHED } from "./speechrole.ts";

export interface ImportOptions extends ScanOptions {
  readonly project: Project;
  /** The corpus, absolute: a folder, or a single manifest or table; it is only read. */
  readonly folder: string;
  /** Name of the new data set: datasets/NAME.yaml. */
  readonly name: string;
  /** Which of several forms that the folder has. */
  readonly format?: Scan["format"];
  readonly description?: string;
  readonly licence?: string;
  /** Commit or date of the corpus. */
  readonly revision?: string;
  /** Write over a spec and a manifest that are there. */
  readonly force?: boolean;
}

export interface ImportReport {
  readonly format: Scan["format"];
  readonly roles: readonly RoleEntry[];
  readonly languages: Readonly<Record<"en" | "zh", number>>;
  readonly dialogues: { readonly train: number; readonly test: number; readonly unusable: number };
  /** Null where dialogues were counted without looking at their turns, as in a table that does not say how many. */
  readonly turns: number | null;
  /** What each file of a manifest or table gave. */
  readonly files: readonly FileCount[];
  /** Turns by the form of their audio, for a release: what generation it is, or a mixture. */
  readonly forms: Readonly<Record<string, number>>;
  readonly defects: readonly Defect[];
  readonly specFile: string;
  readonly rolesFile: string;
}

/**
 * Looks at a corpus by its content and writes datasets/NAME.yaml and the role manifest datasets/NAME.roles.json for it; the
 * corpus stays where it is. A `roles.json` of the corpus itself is taken as it is. UserErrors `NAME_INVALID`,
 * `DATASET_EXISTS`, `SOURCE_MISSING`, `SOURCE_AMBIGUOUS`, `SOURCE_RAW`, `SOURCE_SILENT`, `SOURCE_JSON_INVALID`, `PARQUET_COLUMNS`, ….
 */
export const importCorpus = async (options: ImportOptions): Promise<ImportReport> => {
  const { project, folder, name } = options;
  const specFile = await freeSpecFile(options);
  const forms = await formsOf(folder);
  const scan = await scanForm(forms, options);
  requireDialogues(scan, folder);
  // Of a single file it lies beside it.
  const isFile = !(await stat(folder)).isDirectory();
  const own = join(isFile ? dirname(folder) : folder, "roles.json");
  const hasOwn = await exists(own);
  const rolesFile = hasOwn ? own : join(project.datasets, `${name}.roles.json`);
  const roles = hasOwn ? await readRoles(own) : roleEntries(scan.roles, new Set(likelyHeldOut(scan)));
  const spec = newSpec(scan, {
    name,
    path: pathFrom(project.datasets, folder),
    roles: !hasOwn ? `${name}.roles.json` : isFile ? pathFrom(project.datasets, own) : "roles.json",
    revision: options.revision ?? "unpinned",
    description: options.description ?? `Imported: ${scan.format}`,
    licence: options.licence ?? "unknown",
    heldOutRoles: roles.filter(({ heldOut }) => heldOut).map(({ stem }) => stem),
  });
  // The spec comes last: without it there is no data set, and the same import can be run again.
  if (!hasOwn) await writeRoles(rolesFile, roles, options);
  await writeAtomic(specFile, spec);
  return reportOf(scan, roles, { specFile, rolesFile });
};

async function freeSpecFile({ project, name, force = false }: ImportOptions): Promise<string> {
  if (!/^[a-z0-9][a-z0-9-]*$/.test(name))
    throw new UserError("NAME_INVALID", `"${name}" cannot be the name of a data set`, {
      hint: "a-z, 0-9 and hyphens, beginning with a letter or digit",
    });
  const file = join(project.datasets, `${name}.yaml`);
  if (!force && (await exists(file))) throw isThere(file);
  return file;
}

async function writeRoles(
  file: string,
  roles: readonly RoleEntry[],
  { force = false }: ImportOptions,
): Promise<void> {
  const text = `${JSON.stringify(roles, null, 2)}\n`;
  const before = await readIfExists(file);
  if (before === text) return;
  // Only an import that was killed before its spec was written leaves one, and that says the same.
  if (before !== undefined && !force) throw isThere(file);
  await writeAtomic(file, text);
}

const isThere = (file: string): UserError =>
  new UserError("DATASET_EXISTS", `${file} is there already`, {
    hint: "take another name, or --force to write over it",
  });

async function scanForm(
  forms: readonly Form[],
  { folder, format, signal, onProgress }: ImportOptions,
): Promise<Scan> {
  const chosen = format ?? (forms.length === 1 ? forms[0] : undefined);
  if (chosen === "completions")
    throw new UserError("SOURCE_RAW", `${folder} holds completions of a model, which have no audio`, {
      hint: "turn them into role files first (understudy dataset import-completions), then synthesize their speech",
    });
  if (chosen === "role-files")
    throw new UserError("SOURCE_SILENT", `${folder} holds role files: these dialogues have no audio yet`, {
      hint: `${SYNTHESIZE}; role files with audio belong into train/{single,multi}/ and test_data/{single,multi}_turn/`,
    });
  if (chosen === undefined || !forms.includes(chosen))
    throw new UserError(
      forms.length > 1 ? "SOURCE_AMBIGUOUS" : "SOURCE_MISSING",
      forms.length > 1
        ? `${folder} holds several corpora: ${forms.join(" and ")}`
        : `${folder} holds no corpus${format === undefined ? "" : ` in the form ${format}`}`,
      { hint: "expected role files, a .jsonl or .csv manifest, or Parquet: see datasets/README.md" },
    );
  const options = { signal, onProgress };
  if (chosen === "speechrole-release") return scanRelease(folder, options);
  return chosen === "manifest" ? scanManifest(folder, options) : scanParquet(folder, options);
}

const SYNTHESIZE = "synthesize the speech of their questions and answers first: see datasets/README.md";

function requireDialogues({ roles, unusable, isSilent, defects }: Scan, folder: string): void {
  if (isSilent)
    throw new UserError("SOURCE_SILENT", `${folder}: these dialogues have no audio yet`, {
      hint: SYNTHESIZE,
    });
  const isEmpty = roles.every(
    ({ dialogues: { train, test } }) => train.single + train.multi + test.single + test.multi === 0,
  );
  if (!isEmpty) return;
  const first = defects.find(({ code }) => code === "of_no_use")?.places[0];
  const why = first === undefined ? "" : `: ${unusable} are of no use, the first is ${first}`;
  throw new UserError("SOURCE_MISSING", `${folder} holds no dialogue that can be used${why}`);
}

// Inside the project a path that moves with it.
function pathFrom(datasets: string, folder: string): string {
  const path = relative(datasets, folder);
  const isOutside = path.startsWith(`..${sep}..`) || isAbsolute(path);
  return isOutside ? folder : path.split(sep).join("/") || ".";
}

function reportOf(
  scan: Scan,
  roles: readonly RoleEntry[],
  files: Pick<ImportReport, "specFile" | "rolesFile">,
): ImportReport {
  const test = sessionsOf(scan);
  const train = scan.roles.reduce(
    (sum, { dialogues }) => sum + dialogues.train.single + dialogues.train.multi,
    0,
  );
  return {
    format: scan.format,
    roles,
    languages: {
      en: roles.filter(({ language }) => language === "en").length,
      zh: roles.filter(({ language }) => language === "zh").length,
    },
    dialogues: { train, test, unusable: scan.unusable },
    turns: scan.turnsAreKnown ? scan.roles.reduce((sum, facts) => sum + facts.turns, 0) : null,
    files: scan.files,
    forms: Object.fromEntries(scan.forms),
    defects: [...scan.defects, ...countDefects(scan, test)],
    ...files,
  };
}

// Published numbers are claims: what is found is said beside them.
function countDefects({ isSpeechRole, roles, forms }: Scan, test: number): readonly Defect[] {
  const found = (code: string, detail: string): Defect => ({
    code,
    role: null,
    count: 1,
    places: [],
    detail,
  });
  const generations = [...forms.keys()].filter((form) => form.includes("generation"));
  return [
    ...(isSpeechRole && roles.length !== PUBLISHED.roles
      ? [found("roles_not_as_published", `${roles.length} roles, ${PUBLISHED.roles} are published`)]
      : []),
    ...(isSpeechRole && test !== PUBLISHED.testSessions
      ? [found("sessions_not_as_published", `${test} test sessions, ${PUBLISHED.testSessions} are published`)]
      : []),
    ...(generations.length > 1
      ? [found("mixed_generations", `test answers of two generations: ${generations.join(" and ")}`)]
      : []),
  ];
}
