import { resolve } from "node:path";
import { UserError } from "../../../core/errors.ts";
import { importRaw, type RawImportReport } from "../../../dataset/index.ts";
import { defineCommand } from "../../command.ts";
import { countText } from "../../quantities.ts";
import { pairLines } from "../../table.ts";

const KINDS = ["single", "multi"] as const;

export const datasetImportCompletions = defineCommand({
  positionals: {
    folder: { describe: "Folders ROLE/{request}_{answer}.json with what a model wrote; only read" },
    output: { describe: "New folder for ROLE.json of each role" },
  },
  options: {
    kind: {
      type: "string",
      value: "KIND",
      choices: KINDS,
      describe: "Which prompt wrote them",
    },
    force: { type: "boolean", describe: "Write in place of an output that is there" },
  },
  json: true,
  details:
    "Completions of a language model become role files without audio, for the synthesis of their speech. Each file ROLE/{request}_{answer}.json holds a list [{dialogue: [{user, role}], context}]: the question and the answer of each turn, and the scene where there is one. JSON that is broken in a known way is mended and counted; a file that is cut off is set aside whole, with byte and reason, in quarantine.jsonl.",
  examples: ["understudy dataset import-completions ./raw/single ./dialogues/single --kind single"],
  handler: async ({ folder, output, kind, force }, { print, signal, cwd }) => {
    if (kind === undefined)
      throw new UserError("KIND_MISSING", "Say which prompt wrote these completions", {
        hint: "--kind single or --kind multi: both have the same shape",
      });
    const report = await importRaw({
      folder: resolve(cwd, folder),
      output: resolve(cwd, output),
      kind,
      force,
      signal,
      onProgress: (file) => print.progress(`reading ${file}`),
    }).finally(() => print.progress(""));
    print.result({ output: resolve(cwd, output), ...report }, () => linesOf(resolve(cwd, output), report));
    const { misnamed } = report;
    if (misnamed.length > 0)
      print.warn(
        `${countText(misnamed.length)} files were not read, for they are not named {request}_{answer}.json, as 0_0.json: ${misnamed.slice(0, SHOWN).join(", ")}${misnamed.length > SHOWN ? ", …" : ""}`,
      );
    if (report.quarantined > 0)
      print.warn(
        `${countText(report.quarantined)} files could not be read: ${output}/quarantine.jsonl says why`,
      );
  },
});

const SHOWN = 3;

function linesOf(output: string, report: RawImportReport): string[] {
  const { kind, files, dialogues, turns, byRole, repairs, repairedFiles, drops } = report;
  const counts = (record: Readonly<Record<string, number>>): string[] =>
    pairLines(Object.entries(record).map(([word, count]) => [word, countText(count)]));
  return [
    `files ${countText(files)}, roles ${countText(Object.keys(byRole).length)}, dialogues ${countText(dialogues)}, turns ${countText(turns)}`,
    ...(repairedFiles > 0 ? [`mended in ${countText(repairedFiles)} files`, ...counts(repairs)] : []),
    ...(Object.keys(drops).length > 0 ? ["left out", ...counts(drops)] : []),
    `role files, report.json and quarantine.jsonl: ${output}`,
    `next: synthesize the speech of these dialogues and name its clips in the role files, put them into train/${kind}/ of a folder, then understudy dataset import (datasets/README.md says how)`,
  ];
}
