import { posix } from "node:path";
import { sha256 } from "../../core/hash.ts";
import { layoutAt } from "../attempt-layout.ts";
import type { Plan } from "../schema.ts";
import { isLasting } from "../transport/index.ts";
import type { Transport } from "../transport/transport.ts";
import { execute } from "./command.ts";
import { failureOf } from "./squeue.ts";

/** What sbatch did for one link, as recorded beside the job before anybody here could know it. */
export interface LinkRecord {
  /** Null while sbatch runs, or when it was killed. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Seconds since it was begun, by the far machine's clock. */
  readonly age: number;
}

/** What lies on the far side of a submission. */
export interface SubmissionRecord {
  /** Seconds since the epoch there. */
  readonly now: number;
  /** Milliseconds since the epoch there, when the first link was begun; null before. */
  readonly begunAt: number | null;
  /** Number of the newest attempt that has a folder; 0 when there is none. */
  readonly newest: number;
  /** Numbers of attempts that have begun, whoever has begun them. */
  readonly begun: ReadonlySet<number>;
  /** Link → the job that has claimed it; empty when its name is not written yet. */
  readonly claims: ReadonlyMap<number, string>;
  readonly links: ReadonlyMap<number, LinkRecord>;
  /** Planned files that are there with another content. */
  readonly differing: readonly string[];
}

export type LookedAt =
  | { readonly worked: true; readonly record: SubmissionRecord }
  | {
      readonly worked: false;
      readonly why: string;
      readonly hint?: string;
      /** It stays so until a person acts. */
      readonly isLasting?: boolean;
    };

/** Folder of the record, beside the job. */
export const placeOf = (plan: Pick<Plan, "cwd">): string => posix.join(plan.cwd, "submission");

// A record is a line of its kind and words; the text of a file follows with + before each line.
const LOOK = `
run=$1 place=$2 marker=$3
set +f
now=$(date +%s)
printf 'now %s\\n' "$now"
text() {
  [ -f "$2" ] || return 0
  printf '%s\\n' "$1"
  while IFS= read -r line || [ -n "$line" ]; do printf '+%s\\n' "$line"; line=; done <"$2"
}
for folder in "$run"/attempts/*; do
  number=\${folder##*/}
  case $number in *[!0-9]*) ;; *) printf 'attempt %s\\n' "$number" ;; esac
done
for claim in "$run/claims/\${marker%-a*}"-a*; do
  number=\${claim##*-a}
  case $number in *[!0-9]*) ;; *) [ ! -d "$claim" ] || printf 'begun %s\\n' "$number" ;; esac
done
for claim in "$run/claims/$marker".link-*; do
  [ -d "$claim" ] || continue
  owner=
  { IFS= read -r owner <"$claim/owner"; } 2>/dev/null
  printf 'claim %s %s\\n' "\${claim##*.link-}" "$owner"
done
text at "$place/at"
for link in "$place"/link-*; do
  [ -d "$link" ] || continue
  case \${link##*/link-} in *[!0-9]*) continue ;; esac
  begun=$(stat -c %Y "$link") || continue
  printf 'link %s %s\\n' "\${link##*/link-}" "$((now - begun))"
  for part in code out err; do text "$part" "$link/$part"; done
done
while IFS=' ' read -r sum file; do
  [ -e "$file" ] || continue
  there=$(sha256sum <"$file") || exit 1
  [ "\${there%% *}" = "$sum" ] || printf 'differs %s\\n' "$file"
done
echo end
`;

/** Asks what an earlier or another submission of this plan has left. Changes nothing. */
export const lookAtSubmission = async (
  transport: Transport,
  plan: Plan,
  deadlineSeconds: number,
): Promise<LookedAt> => {
  const { run, fence } = layoutAt(plan.cwd);
  const stdin = plan.files
    .filter(({ path }) => path !== fence)
    .map(({ path, text }) => `${sha256(text)} ${path}\n`)
    .join("");
  const outcome = await execute(
    transport,
    ["sh", "-c", LOOK, "look", run, placeOf(plan), plan.attempt.marker],
    { stdin, deadline: deadlineSeconds * 1000 },
  );
  const failure = failureOf(`reading ${run}`, outcome);
  if (failure !== undefined || outcome.kind !== "exited") {
    const why = failure ?? "no answer";
    if (outcome.kind !== "transport-error") return { worked: false, why };
    const hint = outcome.hint === undefined ? {} : { hint: outcome.hint };
    return { worked: false, why, ...hint, isLasting: isLasting(outcome.code) };
  }
  return readSubmission(outcome.stdout.toString("utf8"));
};

/** The answer of the script above. */
export const readSubmission = (text: string): LookedAt => {
  const lines = text.split("\n");
  if (lines.at(-2) !== "end") return { worked: false, why: "the answer of the far shell is not whole" };
  const draft: Draft = {
    now: 0,
    attempts: [],
    begun: new Set(),
    claims: new Map(),
    links: new Map(),
    differing: [],
    at: [],
  };
  let into: string[] = [];
  for (const line of lines) {
    if (line.startsWith("+")) into.push(line.slice(1));
    else into = begin(line, draft);
  }
  const begunAt = draft.at.join("");
  return {
    worked: true,
    record: {
      now: draft.now,
      begunAt: /^\d+$/.test(begunAt) ? Number(begunAt) * 1000 : null,
      newest: Math.max(0, ...draft.attempts.filter(Number.isInteger)),
      begun: draft.begun,
      claims: draft.claims,
      links: new Map([...draft.links].map(([link, parts]) => [link, recordOf(parts)])),
      differing: draft.differing,
    },
  };
};

interface LinkParts {
  readonly age: number;
  readonly code: string[];
  readonly out: string[];
  readonly err: string[];
}

interface Draft {
  now: number;
  readonly attempts: number[];
  readonly begun: Set<number>;
  readonly claims: Map<number, string>;
  readonly links: Map<number, LinkParts>;
  readonly differing: string[];
  readonly at: string[];
}

/** Takes in a line of its own kind; returns where the text after it belongs. */
function begin(line: string, draft: Draft): string[] {
  const [word = "", first = "", second = ""] = line.split(" ");
  switch (word) {
    case "now":
      draft.now = Number(first);
      return [];
    case "begun":
      draft.begun.add(Number(first));
      return [];
    case "attempt":
      draft.attempts.push(Number(first));
      return [];
    case "claim":
      draft.claims.set(Number(first), second);
      return [];
    case "differs":
      draft.differing.push(line.slice("differs ".length));
      return [];
    case "link":
      draft.links.set(Number(first), { age: Number(second), code: [], out: [], err: [] });
      return [];
    case "at":
      return draft.at;
    default:
      return partOf([...draft.links.values()].at(-1), word);
  }
}

function partOf(link: LinkParts | undefined, word: string): string[] {
  return (word === "code" || word === "out" || word === "err" ? link?.[word] : undefined) ?? [];
}

function recordOf({ age, code, out, err }: LinkParts): LinkRecord {
  const text = code.join("");
  return {
    age,
    code: /^\d+$/.test(text) ? Number(text) : null,
    stdout: out.join("\n"),
    stderr: err.join("\n"),
  };
}
