import { resolve } from "node:path";
import { importCorpus, type Defect, type ImportReport } from "../../../dataset/index.ts";
import { defineCommand } from "../../command.ts";
import { countText } from "../../quantities.ts";

const FORMATS = ["speechrole-release", "manifest", "parquet"] as const;

export const datasetImport = defineCommand({
  positionals: {
    folder: {
      describe: "Folder of the corpus, or one manifest or Parquet file; only read, and stays where it is",
    },
    name: { describe: "Name of the new data set: datasets/NAME.yaml" },
  },
  options: {
    format: {
      type: "string",
      value: "FORMAT",
      choices: FORMATS,
      describe: "Which form, where the folder holds several",
    },
    revision: { type: "string", value: "TEXT", describe: "Commit or date of the corpus" },
    description: { type: "string", value: "TEXT", describe: "One sentence for people" },
    licence: { type: "string", value: "TEXT", describe: "SPDX identifier or a sentence" },
    force: { type: "boolean", describe: "Write over a spec and role manifest that are there" },
  },
  json: true,
  details:
    "Looks at a corpus by its content: released role files, a JSONL or CSV manifest, or Parquet. Writes a spec and, where the corpus has none, a role manifest: look at both before packing, above all at the held-out roles. Known defects of the release are named.",
  examples: [
    "understudy dataset import ~/corpora/SpeechRole-Data my-speechrole --revision 2025-08-19",
    "understudy dataset import ./recordings own-roles --licence CC-BY-4.0",
  ],
  handler: async (
    { folder, name, format, revision, description, licence, force },
    { print, signal, ...context },
  ) => {
    const report = await importCorpus({
      project: await context.project(),
      folder: resolve(context.cwd, folder),
      name,
      force,
      signal,
      onProgress: (file) => print.progress(`reading ${file}`),
      ...(format === undefined ? {} : { format }),
      ...(revision === undefined ? {} : { revision }),
      ...(description === undefined ? {} : { description }),
      ...(licence === undefined ? {} : { licence }),
    }).finally(() => print.progress(""));
    print.result({ name, ...report }, () => linesOf(name, report));
    for (const defect of report.defects) print.warn(defectText(defect));
  },
});

function linesOf(name: string, report: ImportReport): string[] {
  const { format, roles, languages, dialogues, turns, files, forms, specFile, rolesFile } = report;
  const named = roles.filter((role) => role.heldOut).length;
  const heldOut =
    named > 0 || roles.length < 2 ? `${countText(named)} held out` : "those held out are drawn by the seed";
  const said = turns === null ? "" : `; ${countText(turns)} turns`;
  return [
    `${name}: ${format}, ${countText(roles.length)} roles (${countText(languages.en)} English, ${countText(languages.zh)} Chinese), ${heldOut}`,
    `  ${countText(dialogues.train)} dialogues to train on, ${countText(dialogues.test)} test sessions${ofNoUse(dialogues)}${said}`,
    ...fileLines(files),
    ...Object.entries(forms).map(([form, count]) => `  ${countText(count)} turns: ${form}`),
    ...(dialogues.test === 0
      ? [
          "  a pack takes test and dev out of these: splits.testPerRole (4 by default) and splits.devPerRole (2)",
        ]
      : []),
    `spec:  ${specFile}`,
    `roles: ${rolesFile}`,
    `next: look at both, then understudy dataset pack ${name}`,
  ];
}

const ofNoUse = ({ unusable }: { readonly unusable: number }): string =>
  unusable > 0 ? `, ${countText(unusable)} of no use` : "";

const MOST_FILES = 10;

function fileLines(files: ImportReport["files"]): string[] {
  const lines = files
    .slice(0, MOST_FILES)
    .map((count) => `  ${count.file}: ${countText(count.dialogues)} dialogues${ofNoUse(count)}`);
  const more = files.length - lines.length;
  return more > 0 ? [...lines, `  and ${countText(more)} files more`] : lines;
}

const SHOWN = 3;

function defectText({ code, role, count, places, detail }: Defect): string {
  const times = count > 1 ? ` (${countText(count)} times)` : "";
  const more = count > SHOWN ? ", …" : "";
  const where = places.length > 0 ? `; ${places.slice(0, SHOWN).join(", ")}${more}` : "";
  return `${code}${role === null ? "" : ` ${role}`}${times}: ${detail}${where}`;
}
