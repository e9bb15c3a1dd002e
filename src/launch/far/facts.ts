/** What `check.sh` found. Sizes in bytes; null where a machine does not tell. */
export interface FarFacts {
  readonly host: string;
  readonly user: string;
  /** Seconds since the epoch, by the far clock. */
  readonly time: number | null;
  readonly machine: string;
  /** Version of glibc; null for another C library. */
  readonly glibc: string | null;
  readonly openFiles: number | null;
  readonly folders: readonly FolderFact[];
  readonly quotas: readonly Quota[];
  readonly python: { readonly version: string; readonly path: string; readonly venv: boolean } | null;
  readonly pythonError: string | null;
  /** Groups of the user; null when it was not asked. */
  readonly groups: readonly string[] | null;
  readonly wheels: number | null;
  readonly image: boolean | null;
  /** Content of `_COMPLETE.json` of the job's environment. */
  readonly environment: string | null;
  readonly engine: { readonly works: boolean; readonly text: string } | null;
  /** Of logind: KillUserProcesses, KillExcludeUsers, Linger. */
  readonly logind: Readonly<Record<string, string>>;
  /** Lines about GPUs, for `parseGpus`. */
  readonly gpuLines: readonly string[];
  /** Of a model folder that was asked about; null when none was. */
  readonly model: ModelFact | null;
  /** Package indexes that were asked about. */
  readonly indexes: readonly IndexFact[];
}

export interface IndexFact {
  /** `-` when it is not known which one it was. */
  readonly host: string;
  /** Why it cannot be reached; null when it answers. */
  readonly reason: string | null;
}

export interface ModelFact {
  readonly isThere: boolean;
  /** Bytes of each file at its top, by name. */
  readonly files: ReadonlyMap<string, number>;
  /** Files that its index of weights names, and the bytes of all their tensors. */
  readonly parts: readonly string[];
  readonly tensorBytes: number | null;
  /** What downloads have written down of its revision. */
  readonly commits: readonly string[];
}

export interface FolderFact {
  readonly folder: string;
  /** The folder itself, or the nearest one above it that exists. */
  readonly nearest: string;
  readonly writable: boolean;
  readonly device: string;
  readonly mount: string;
  readonly freeBytes: number | null;
  /** Null where a filesystem has no fixed number. */
  readonly freeInodes: number | null;
}

export interface Quota {
  readonly filesystem: string;
  readonly usedBytes: number;
  readonly limitBytes: number | null;
  readonly usedFiles: number;
  readonly limitFiles: number | null;
}

/** Total: lines that are not understood are left out, and what is missing is null. */
export const parseFacts = (text: string): FarFacts => {
  const lines = text.split("\n");
  const all = (word: string): string[] =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1).trim());
  const one = (word: string): string | null => all(word)[0] ?? null;
  const said = (word: string): string => one(word) ?? "";
  return {
    host: said("host"),
    user: said("user"),
    time: numberOf(one("time")),
    machine: said("machine"),
    glibc: captured(/^glibc (\S+)/, said("libc")),
    openFiles: numberOf(captured(/^limit open files: (\d+)$/m, text)),
    folders: lines.filter((line) => line.startsWith("folder\t")).flatMap(parseFolder),
    quotas: [...all("quota"), ...all("lfs-quota")].flatMap(parseQuota),
    python: parsePython(one("python"), one("venv") === "yes"),
    pythonError: one("python-error"),
    groups: one("groups")?.split(" ") ?? null,
    wheels: numberOf(one("wheels")),
    image: one("image") === null ? null : said("image") === "yes",
    environment: one("environment"),
    engine: parseEngine(one("engine")),
    logind: Object.fromEntries(all("logind").map(assignment)),
    model: one("model") === null ? null : parseModel(said("model") === "yes", all),
    indexes: all("index").flatMap(parseIndex),
    gpuLines: lines.filter((line) => /^(nvidia-smi|gpu|gpu-process|cuda) /.test(line)),
  };
};

function parseIndex(line: string): IndexFact[] {
  const [, host, answer, reason = ""] = /^(\S+) (yes|no) ?(.*)$/.exec(line) ?? [];
  return host === undefined ? [] : [{ host, reason: answer === "yes" ? null : reason }];
}

function parseModel(isThere: boolean, all: (word: string) => string[]): ModelFact {
  const files = all("model-file").flatMap((line): [string, number][] => {
    const [, bytes, name] = /^(\d+) (.*)$/.exec(line) ?? [];
    return bytes === undefined || name === undefined ? [] : [[name, Number(bytes)]];
  });
  return {
    isThere,
    files: new Map(files),
    parts: all("model-part"),
    tensorBytes: numberOf(all("model-bytes")[0] ?? null),
    commits: all("model-commit"),
  };
}

function captured(pattern: RegExp, text: string): string | null {
  return pattern.exec(text)?.[1] ?? null;
}

function assignment(line: string): readonly [string, string] {
  const equals = line.indexOf("=");
  return equals < 0 ? [line, ""] : [line.slice(0, equals), line.slice(equals + 1)];
}

function parseEngine(line: string | null): FarFacts["engine"] {
  const [, works, text] = /^(yes|no) (.*)$/.exec(line ?? "") ?? [];
  return works === undefined || text === undefined ? null : { works: works === "yes", text };
}

function parsePython(line: string | null, venv: boolean): FarFacts["python"] {
  const [, version, path] = /^(\d+\.\d+\.\d+) (.*)$/.exec(line ?? "") ?? [];
  return version === undefined || path === undefined ? null : { version, path, venv };
}

// The last fields of df: total, used, free, per cent, mount. Names in front and behind may have spaces.
const DF = /^(.*?)\s+(\d+)\s+(-?\d+)\s+(-?\d+)\s+(?:\d+%|-)\s+(.*)$/;

function parseFolder(line: string): FolderFact[] {
  const [, writable, nearest, folder, space = "", inodes = ""] = line.split("\t");
  if (nearest === undefined || folder === undefined) return [];
  const bytes = DF.exec(space);
  const files = DF.exec(inodes);
  const hasInodes = files !== null && Number(files[2]) > 0;
  return [
    {
      folder,
      nearest,
      writable: writable === "yes",
      device: bytes?.[1] ?? "",
      mount: bytes?.[5] ?? "",
      freeBytes: bytes === null ? null : Math.max(0, Number(bytes[4])) * 1024,
      freeInodes: hasInodes ? Math.max(0, Number(files[4])) : null,
    },
  ];
}

// Of `quota -w -p` and of `lfs quota -q`: filesystem, KiB, soft, hard, grace, files, soft, hard, grace. A star: over the limit.
const QUOTA = /^(\S+)\s+\[?(\d+)\]?\*?\s+(\d+)\s+(\d+)\s+\S+\s+\[?(\d+)\]?\*?\s+(\d+)\s+(\d+)\s+\S+$/;

function parseQuota(line: string): Quota[] {
  const match = QUOTA.exec(line.trim());
  if (match === null) return [];
  const [, filesystem = "", ...rest] = match;
  const [used = 0, soft = 0, hard = 0, files = 0, softFiles = 0, hardFiles = 0] = rest.map(Number);
  const limit = smallest(soft, hard);
  return [
    {
      filesystem,
      usedBytes: used * 1024,
      limitBytes: limit === null ? null : limit * 1024,
      usedFiles: files,
      limitFiles: smallest(softFiles, hardFiles),
    },
  ];
}

// 0 is no limit. A run lasts longer than the grace of a soft one.
function smallest(...limits: number[]): number | null {
  const real = limits.filter((limit) => limit > 0);
  return real.length === 0 ? null : Math.min(...real);
}

function numberOf(text: string | null): number | null {
  return text !== null && /^\d+$/.test(text) ? Number(text) : null;
}
