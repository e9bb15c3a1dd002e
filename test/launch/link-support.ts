import { spawn, type ChildProcess } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { temporaryFolder, wrapperPath } from "./support.ts";

export const linkPath = resolve(import.meta.dirname, "../../launchers/payload/link.sh");

/** Stands in for the trainer: does what the file `script-n` of the run says in attempt n; without one it ends at once. */
const TRAINER = `
folder=\${1%/job.json}
run=\${folder%/attempts/*}
n=\${folder##*/}
checkpoint() {
  mkdir -p "$run/output/checkpoint-$1" && echo "{\\"step\\":$1}" >"$run/output/checkpoint-$1/_COMPLETE.json"
}
echo "attempt $n"
[ ! -f "$run/script-$n" ] || . "$run/script-$n"
`;

export interface Chain {
  readonly run: string;
  /** Starts a link as Slurm would; job ids are 100 + link unless said otherwise. */
  start(link: number, changes?: Partial<Start>): ChildProcess;
  /** Starts a link and waits for its end. */
  link(link: number, changes?: Partial<Start>): Promise<Ended>;
  /** What attempt n does, in shell. */
  script(attempt: number, text: string): void;
  /** Files of the run by name; undefined for one that is not there. */
  read(path: string): string | undefined;
  json(path: string): Record<string, unknown>;
  write(path: string, text: string): void;
  /** A complete checkpoint. */
  checkpoint(step: number): void;
  /** Numbers of the attempts whose program has run, in order. */
  ran(): readonly number[];
  /** Every file with its time of change. */
  snapshot(): readonly string[];
}

export interface Start {
  readonly job: number;
  readonly restart: number;
  readonly first: number;
  readonly token: string;
  readonly node: string;
  readonly shell: readonly string[];
  readonly options: readonly string[];
  /** Folder of programs that come before the real ones. */
  readonly path: string;
}
export interface Ended {
  readonly code: number | null;
  readonly said: string;
}

/** A run whose final checkpoint is that of step 10, as a submission of attempt `first` has left it. */
export const chainOf = (stem: string): Chain => {
  const run = temporaryFolder().path;
  const file = (path: string): string => join(run, path);
  const read = (path: string): string | undefined =>
    existsSync(file(path)) ? readFileSync(file(path), "utf8") : undefined;
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(file(path)), { recursive: true });
    writeFileSync(file(path), text);
  };
  const start: Chain["start"] = (link, changes = {}) => {
    const first = changes.first ?? 1;
    submit(run, first);
    const [shell = "/bin/sh", ...before] = changes.shell ?? [];
    const { options = [], token = "T", path } = changes;
    const args = ["--run", run, "--first", String(first), "--stem", stem, "--token", token, "--steps", "10"];
    return spawn(
      shell,
      [
        ...before,
        linkPath,
        ...args,
        "--keep",
        "*",
        ...options,
        "--",
        "/bin/sh",
        "-c",
        TRAINER,
        "trainer",
        "@MANIFEST@",
      ],
      {
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
        env: {
          PATH: `${path === undefined ? "" : `${path}:`}${process.env["PATH"] ?? ""}`,
          UNDERSTUDY_LINK: String(link),
          UNDERSTUDY_LINKS: "9",
          SLURM_JOB_NAME: `${stem}-a${first}`,
          SLURM_JOB_ID: String(changes.job ?? 100 + link),
          SLURMD_NODENAME: changes.node ?? "n1",
          ...(changes.restart === undefined ? {} : { SLURM_RESTART_COUNT: String(changes.restart) }),
        },
      },
    );
  };
  return {
    run,
    start,
    link: async (link, changes) => ended(start(link, changes)),
    script: (attempt, text) => write(`script-${attempt}`, `${text}\n`),
    read,
    json: (path) => JSON.parse(read(path) ?? "null"),
    write,
    checkpoint: (step) => write(`output/checkpoint-${step}/_COMPLETE.json`, `{"step":${step}}\n`),
    ran: () =>
      (existsSync(file("attempts")) ? readdirSync(file("attempts")) : [])
        .filter((name) => read(`attempts/${name}/log.txt`)?.startsWith(`attempt ${name}\n`) === true)
        .map(Number)
        .toSorted((a, b) => a - b),
    snapshot: () =>
      readdirSync(run, { recursive: true, encoding: "utf8" })
        .map((name) => `${name} ${statSync(file(name)).mtimeMs}`)
        .toSorted(),
  };
};

export const ended = async (child: ChildProcess): Promise<Ended> => {
  let said = "";
  child.stdout?.on("data", (data: Buffer) => (said += data.toString()));
  child.stderr?.on("data", (data: Buffer) => (said += data.toString()));
  const code = await new Promise<number | null>((done) => child.once("close", done));
  return { code, said };
};

const TEMPLATE = `{
  "attempt": { "number": @ATTEMPT@, "token": "@TOKEN@" },
  "paths": { "stop": "attempts/@ATTEMPT@/STOP" },
  "text": "\\u0040ATTEMPT@ back\\\\slash \\t%s $HOME"
}
`;

function submit(run: string, first: number): void {
  const folder = join(run, "attempts", String(first));
  if (existsSync(join(folder, "job.template.json"))) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "job.template.json"), TEMPLATE);
  copyFileSync(wrapperPath, join(folder, "wrapper.sh"));
}

/** A program that does something else as well when it is called with a word that fits. */
export const meddling = (program: string, fits: string, work: string): string => {
  const path = temporaryFolder().path;
  writeFileSync(
    join(path, program),
    `#!/bin/sh\ncase "$*" in ${fits}) ${work} ;; esac\nexec /bin/${program} "$@"\n`,
    { mode: 0o755 },
  );
  return path;
};
