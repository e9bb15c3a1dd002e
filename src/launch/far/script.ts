import { InternalError } from "../../core/errors.ts";
import { shellQuote } from "../plan-text.ts";
import type { FarProfile } from "../profile.ts";
import type { Plan } from "../schema.ts";

export interface FarScriptRequest {
  readonly profile: FarProfile;
  readonly environment: Plan["environment"];
  /** Of this machine; they share its cores. */
  readonly processes: number;
  /** What the script becomes at its end: the wrapper with its arguments, or a link with its own. */
  readonly program: readonly [string, ...string[]];
  /** Folder that `secretFile` has written, needed when the environment names secrets. */
  readonly secrets?: string;
  /** Lines after the first one, e.g. directives of a scheduler. */
  readonly head?: readonly string[];
}

/**
 * POSIX shell: a clean environment, the profile's `setup` lines as they stand, secrets out of their folder (which is deleted),
 * then `exec`. Ends with 69 and a sentence on stderr when this machine is not fit. No value of a secret is in the text. Pure.
 */
export const farScript = (request: FarScriptRequest): string => {
  const { profile, environment, processes, program, head = [] } = request;
  const literals = Object.entries(environment).flatMap(([name, entry]) =>
    "value" in entry ? [`export ${variable(name)}=${shellQuote(entry.value)}`] : [],
  );
  return [
    "#!/bin/sh",
    ...head,
    UNFIT,
    `umask ${profile.umask}`,
    clean(profile),
    ...setupLines(profile.setup),
    ...literals.toSorted(),
    ...("OMP_NUM_THREADS" in environment ? [] : [threads(processes)]),
    ...scratch(environment),
    ...secrets(request),
    `exec ${program.map(shellQuote).join(" ")}`,
    "",
  ].join("\n");
};

const UNFIT = "unfit() { printf 'understudy: %s\\n' \"$1\" >&2; exit 69; }";

// Whatever else the account, the login or an outer job has set could steer the payload.
const KEPT = [
  "PATH HOME USER LOGNAME SHELL LANG LC_* TZ TMPDIR PWD HOSTNAME LD_LIBRARY_PATH XDG_* KRB5CCNAME BASH_ENV ENV",
  "MODULE* LMOD* LOADEDMODULES _LMFILES_ __LMOD* _ModuleTable* MANPATH CUDA_* NVIDIA_* NCCL_* UCX_* FI_* GPU_* ROCR_* GLOO_*",
  "SLURM_* SLURMD_* SRUN_* PMI* APPTAINER* SINGULARITY* ENROOT_* DOCKER_* http_proxy https_proxy no_proxy",
  "HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE SSL_CERT_DIR HF_ENDPOINT UNDERSTUDY_*",
]
  .join(" ")
  .replaceAll(" ", "|");

// The machine's own way to S3, which s3.py takes away again before the payload begins.
const S3 = "AWS_*";

function clean({ stage }: FarProfile): string {
  const kept = Object.values(stage).includes("s3") ? `${KEPT}|${S3}` : KEPT;
  return [
    "for name in $(env | cut -d= -f1); do",
    "  case $name in",
    "    '' | [0-9]* | *[!A-Za-z0-9_]*) ;;",
    `    ${kept}) ;;`,
    '    *) command unset -v "$name" 2>/dev/null || : ;;',
    "  esac",
    "done",
  ].join("\n");
}

// `module` is a function of login shells; this is none.
const MODULES = [
  "if ! command -v module >/dev/null 2>&1; then",
  '  for file in "${MODULESHOME:-/none}/init/sh" /etc/profile.d/lmod.sh /etc/profile.d/z00_lmod.sh /etc/profile.d/modules.sh; do',
  '    if [ -r "$file" ]; then . "$file"; break; fi',
  "  done",
  "fi",
].join("\n");

/** The setup lines as they stand; when one fails the script ends with 69 and says so. */
export const setupLines = (lines: readonly string[]): readonly string[] => {
  if (lines.length === 0) return [];
  const usesModules = lines.some((line) => /\bmodule\b|\bml\b/.test(line));
  return [
    ...(usesModules ? [MODULES] : []),
    UNFIT,
    "trap 'unfit \"a setup line of the profile failed with code $?\"' EXIT",
    "set -e",
    ...lines,
    "set +e",
    "trap - EXIT",
  ];
};

function threads(processes: number): string {
  return [
    `OMP_NUM_THREADS=$(( $(nproc 2>/dev/null || echo ${processes}) / ${processes} ))`,
    '[ "$OMP_NUM_THREADS" -ge 1 ] || OMP_NUM_THREADS=1',
    "export OMP_NUM_THREADS",
  ].join("\n");
}

function scratch(environment: Plan["environment"]): readonly string[] {
  const entry = environment["TMPDIR"];
  if (entry === undefined || !("value" in entry)) return [];
  return [
    'mkdir -p "$TMPDIR" 2>/dev/null && [ -w "$TMPDIR" ] || unfit "the scratch folder $TMPDIR cannot be written"',
  ];
}

// One file for each name. A requeue starts this script again: what it needed them for may be done by then, and is told if not.
function secrets({ environment, secrets: folder }: FarScriptRequest): readonly string[] {
  const names = Object.entries(environment)
    .filter(([, entry]) => "secret" in entry)
    .map(([name]) => variable(name));
  if (names.length === 0) return [];
  if (folder === undefined) {
    throw new InternalError(
      "SECRETS_WITHOUT_FOLDER",
      `Nothing says where the secrets ${names.join(", ")} will lie`,
    );
  }
  return [
    `secrets=${shellQuote(folder)}`,
    `for name in ${names.join(" ")}; do`,
    '  if [ -r "$secrets/$name" ]; then value=$(cat "$secrets/$name") && export "$name=$value"',
    "  else printf 'understudy: the secret %s was read by an earlier start\\n' \"$name\" >&2; fi",
    "done",
    'rm -rf "$secrets"',
    "unset value",
  ];
}

function variable(name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return name;
  throw new InternalError("VARIABLE_NAME", `"${name}" cannot be the name of an environment variable`);
}
