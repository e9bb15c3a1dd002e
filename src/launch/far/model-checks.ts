import type { FarProfile } from "../profile.ts";
import type { Check, Job } from "../schema.ts";
import { sizeText } from "./disk-checks.ts";
import type { ModelFact } from "./facts.ts";
import { hubModel } from "./staging.ts";

/** Folder of weights that have to be there already and of which nobody here has a list; null where there is none. */
export const unlistedModel = (job: Job, { stage }: FarProfile): string | null => {
  if (stage.model !== "existing" || job.inputs.some(({ role }) => role === "model")) return null;
  try {
    return hubModel(job).path;
  } catch {
    return null;
  }
};

const NAME = "model";
const WEIGHTS = ".safetensors";

/**
 * Weights that lie on the far side and have no copy here to be compared with: whether they are there, whether they are all there (by
 * their own index), and whether they are of the pinned revision, as far as whoever downloaded them has left a note of it.
 */
export const modelChecks = (job: Job, profile: FarProfile, fact: ModelFact | null): readonly Check[] => {
  const folder = unlistedModel(job, profile);
  if (folder === null || fact === null) return [];
  const { repository, revision } = hubModel(job);
  const fetch = `hf download ${repository} --revision ${revision} --local-dir ${folder}`;
  const failed = (detail: string, hint: string): readonly Check[] => [
    { name: NAME, outcome: "failed", detail, hint },
  ];
  if (!fact.isThere) return failed(`there is no folder ${folder}`, `put the weights there: ${fetch}`);
  const lack = lackOf(fact);
  if (lack !== null) return failed(`${folder} is not complete: ${lack}`, `complete it: ${fetch}`);
  // A tag or a branch says nothing that could be compared.
  const other = isCommit(revision) ? fact.commits.find((commit) => commit !== revision) : undefined;
  if (other !== undefined) {
    return failed(
      `${folder} holds files of revision ${other}; the recipe asks for ${revision}`,
      `fetch that revision: ${fetch}`,
    );
  }
  const bytes = sum([...fact.files.values()]);
  const found = `${fact.files.size} files (${sizeText(bytes)}) in ${folder}`;
  return fact.commits.includes(revision)
    ? [
        {
          name: NAME,
          outcome: "ok",
          detail: `${found}, of revision ${revision} by their download's own record`,
        },
      ]
    : [
        {
          name: NAME,
          outcome: "warning",
          detail: `${found}; that they are of revision ${revision} is said by the folder's name alone`,
          hint: "with a copy of the weights on this machine they are compared by digest",
        },
      ];
};

function lackOf({ files, parts, tensorBytes }: ModelFact): string | null {
  if (!files.has("config.json")) return "there is no config.json";
  const weights = [...files].filter(([name]) => name.endsWith(WEIGHTS));
  if (weights.length === 0) return `there are no weights (*${WEIGHTS})`;
  const missing = parts.filter((name) => !files.has(name));
  if (missing.length > 0) {
    const more = missing.length === 1 ? "" : ` and ${missing.length - 1} more`;
    return `its index names ${missing[0]}${more}, which ${missing.length === 1 ? "is" : "are"} not there`;
  }
  const half = [...files.keys()].find((name) => /\.(part|incomplete)$/.test(name));
  if (half !== undefined) return `${half} is a download that was not finished`;
  const present = sum(weights.map(([, bytes]) => bytes));
  return tensorBytes !== null && present < tensorBytes
    ? `its weights have ${present} bytes, and ${tensorBytes} by their index`
    : null;
}

const isCommit = (revision: string): boolean => /^[0-9a-f]{40}$/.test(revision);
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
