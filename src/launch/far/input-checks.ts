import { basename } from "node:path";
import type { FarProfile } from "../profile.ts";
import type { Check, Job, JobInput } from "../schema.ts";
import { sizeText } from "./disk-checks.ts";
import type { InputsFound } from "./inputs.ts";

/** Data and model of a job: what is there, what has to be, what still comes. */
export const inputChecks = (
  job: Pick<Job, "inputs">,
  profile: FarProfile,
  found: InputsFound,
): readonly Check[] => (["data", "model"] as const).flatMap((role) => roleChecks(role, job, profile, found));

type Role = "data" | "model";

function roleChecks(
  role: Role,
  { inputs }: Pick<Job, "inputs">,
  profile: FarProfile,
  found: InputsFound,
): Check[] {
  const own = inputs.filter((input) => input.role === role);
  const theirs = own.filter(({ source }) => source === null);
  const sent = own.filter(({ source }) => source !== null);
  return [
    ...(theirs.length === 0 ? [] : [theirsCheck(role, theirs, profile, found)]),
    ...(sent.length === 0 ? [] : [sentCheck(role, sent, found)]),
  ];
}

function sentCheck(role: Role, sent: readonly JobInput[], found: InputsFound): Check {
  const missing = sent.filter((input) => !isThere(input, found));
  const detail =
    missing.length === 0
      ? `${filesText(sent)} there already`
      : `${filesText(missing)} will be sent${missing.length < sent.length ? `, the other ${sent.length - missing.length} are there` : ""}`;
  return { name: role, outcome: "ok", detail };
}

function isThere(input: JobInput, { trusted, unproven }: InputsFound): boolean {
  return trusted.includes(input) || unproven.includes(input);
}

// All gone, half gone and changed are three different stories with three different remedies.
function theirsCheck(
  role: Role,
  theirs: readonly JobInput[],
  profile: FarProfile,
  found: InputsFound,
): Check {
  const missing = theirs.filter((input) => found.missing.includes(input));
  const wrong = found.wrongSize.filter(({ input }) => theirs.includes(input));
  const unproven = theirs.filter((input) => found.unproven.includes(input));
  const source = sourceOf(role, profile);
  if (source !== null && missing.length + wrong.length > 0) {
    const more = theirs.filter((input) => !isThere(input, found));
    return {
      name: role,
      outcome: "ok",
      detail: `${filesText(more)} will be fetched by the node from ${source}`,
    };
  }
  const refusal = missingCheck(role, theirs, missing) ?? wrongCheck(role, wrong);
  if (refusal) return refusal;
  const hashing = unproven.length === 0 ? "" : `; the job first hashes ${filesText(unproven)} once`;
  return { name: role, outcome: "ok", detail: `${filesText(theirs)} there, of the right size${hashing}` };
}

// Where the job fetches by itself what is not there yet.
function sourceOf(role: Role, { stage, s3 }: FarProfile): string | null {
  if (role === "model" && stage.model === "node-download") return "the model hub";
  return stage[role] === "s3" ? (s3?.[role === "model" ? "models" : "data"] ?? "S3") : null;
}

function missingCheck(
  role: Role,
  theirs: readonly JobInput[],
  missing: readonly JobInput[],
): Check | undefined {
  const [first] = missing;
  if (first === undefined) return undefined;
  const all = missing.length === theirs.length;
  const detail = all
    ? `none of the ${theirs.length} files is there, e.g. ${first.path}: they were purged, or never put there`
    : `${missing.length} of ${theirs.length} files are not there, e.g. ${first.path}`;
  const remedy = all ? "put them there" : "complete them";
  return {
    name: role,
    outcome: "failed",
    detail,
    hint: `${remedy}, or set stage.${role} to upload in the profile`,
  };
}

function wrongCheck(role: Role, wrong: InputsFound["wrongSize"]): Check | undefined {
  const [first] = wrong;
  if (first === undefined) return undefined;
  const { input, bytes } = first;
  const more = wrong.length === 1 ? "" : ` (and ${wrong.length - 1} more)`;
  return {
    name: role,
    outcome: "failed",
    detail: `${input.path} has ${bytes} bytes; ${basename(input.path)} has ${input.bytes} in the lock${more}`,
    hint: `copy it again, or set stage.${role} to upload in the profile`,
  };
}

function filesText(inputs: readonly JobInput[]): string {
  const bytes = inputs.reduce((sum, input) => sum + input.bytes, 0);
  return `${inputs.length} ${inputs.length === 1 ? "file" : "files"} (${sizeText(bytes)})`;
}
