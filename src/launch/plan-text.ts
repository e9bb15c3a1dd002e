import { sha256 } from "../core/hash.ts";
import { sizeText } from "./far/disk-checks.ts";
import { environmentNeed } from "./far/needs.ts";
import type { Plan, PlannedFile } from "./schema.ts";

/**
 * The plan as `--dry-run` prints it: everything that would be sent, secrets as names, the same text every time. `brief`: the
 * payload's files in one line.
 */
export const planText = (plan: Plan, { brief = false }: { readonly brief?: boolean } = {}): string =>
  [
    `${plan.kind} attempt ${plan.attempt.number} of ${plan.runId}`,
    `marker  ${plan.attempt.marker}`,
    `folder  ${plan.cwd}`,
    "",
    ...uploadLines(plan, brief),
    ...environmentLines(plan),
    ...commandLines(plan),
    "environment (nothing else is passed on)",
    ...Object.entries(plan.environment)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, entry]) =>
        "secret" in entry
          ? `  ${name}  (secret, read when the job starts)`
          : `  ${name}=${shellQuote(entry.value)}`,
      ),
    ...(plan.dropped === undefined || plan.dropped.length === 0
      ? []
      : [`  kept away from the submission: ${plan.dropped.join(", ")}`]),
    "",
    ...requestLines(plan),
    "files",
    ...plan.files.flatMap(fileLines),
    "",
  ].join("\n");

/** One argument as a POSIX shell reads it back unchanged. */
export const shellQuote = (text: string): string =>
  /^[A-Za-z0-9_\-./:=@%+,]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

// Scripts that come with this program: their digest says which ones they are. Everything else is printed whole.
const SHIPPED = /\/(wrapper|link|host-run)\.sh$/;

function uploadLines({ uploads }: Plan, brief: boolean): string[] {
  if (uploads.length === 0) return [];
  const bundle = brief ? uploads.filter(({ role, source }) => role === "payload" && source !== null) : [];
  const bundled = new Set(bundle);
  return [
    `uploads (${uploads.length} files, ${bytesOf(uploads)} bytes; only what is not there yet)`,
    ...bundleLines(bundle),
    ...uploads
      .filter((upload) => !bundled.has(upload))
      .map(
        ({ role, path, source, bytes: size, sha256: digest }) =>
          `  ${role}  ${path}  ${size} bytes, sha256 ${digest === "" ? "unknown" : digest}` +
          (source === null ? ", must be there already" : `, from ${source}`),
      ),
    "",
  ];
}

type Upload = Plan["uploads"][number];

const bytesOf = (uploads: readonly Upload[]): number => uploads.reduce((sum, { bytes }) => sum + bytes, 0);

// The digest is that of the lines `SHA256  PATH`, sorted by path: of what `sha256sum` prints for the files.
function bundleLines(bundle: readonly Upload[]): string[] {
  const [first] = bundle;
  if (first === undefined) return [];
  const folder = commonFolder(bundle.map(({ path }) => path));
  const lines = bundle.map(({ path, sha256: digest }) => ({ path: path.slice(folder.length), digest }));
  const tree = lines
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ path, digest }) => `${digest}  ${path}\n`);
  return [
    `  payload  ${folder}  ${bundle.length} files, ${bytesOf(bundle)} bytes, sha256 of the tree ${sha256(tree.join(""))} (--verbose lists them)`,
  ];
}

function commonFolder(paths: readonly string[]): string {
  const [first = "", ...rest] = paths;
  let end = first.lastIndexOf("/") + 1;
  while (end > 0 && !rest.every((path) => path.startsWith(first.slice(0, end)))) {
    end = first.lastIndexOf("/", end - 2) + 1;
  }
  return first.slice(0, end);
}

function environmentLines({ prepares }: Plan): string[] {
  if (prepares === null) return [];
  const { folder, python, locks, wheelhouse, device } = prepares;
  const { bytes, files } = environmentNeed(folder, device);
  return [
    "Python environment (made once)",
    `  ${folder}`,
    `  from ${python} for ${device}, ${wheelhouse === null ? "packages from the index" : `wheels of ${wheelhouse}`}`,
    `  about ${sizeText(bytes)} in ${files} files, besides what the run writes`,
    ...locks.map((lock) => `  ${lock}`),
    "",
  ];
}

// A provider's API takes a request instead: what the container runs stands in it.
function commandLines({ kind, argv, further = [] }: Plan): string[] {
  if (kind === "sagemaker") return [];
  return [
    "command",
    ...argv.map((argument) => `  ${shellQuote(argument)}`),
    "",
    ...further.flatMap((command, index) => [
      `command ${index + 2} of ${further.length + 1}`,
      `  ${command.map(shellQuote).join(" ")}`,
      "",
    ]),
  ];
}

function requestLines({ request }: Plan): string[] {
  if (request === null) return [];
  return ["request", ...indented(JSON.stringify(request, null, 2)), ""];
}

function fileLines(file: PlannedFile): string[] {
  const mode = file.mode.toString(8).padStart(4, "0");
  const head = `  ${file.path}  mode ${mode}, ${Buffer.byteLength(file.text)} bytes, sha256 ${sha256(file.text)}`;
  return SHIPPED.test(file.path) ? [head] : [head, ...indented(file.text)];
}

function indented(text: string): string[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => (line === "" ? "" : `    ${line}`));
}
