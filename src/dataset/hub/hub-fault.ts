import { RemoteError, type ErrorDetails } from "../../core/errors.ts";

export interface Fault {
  /** The HTTP status; null when no reply came. */
  readonly status: number | null;
  /** What the Hub calls it (`X-Error-Code`): `RepoNotFound`, `GatedRepo`, `EntryNotFound`, `RevisionNotFound`, … */
  readonly errorCode: string | null;
  /** Whether the request may have been done all the same: no reply, 408 or 5xx. */
  readonly mayBeDone: boolean;
  /** Whether it was an upload to a link that the Hub had signed for a while. */
  readonly isUpload: boolean;
}

/** A request that the Hub refused, or that got no reply. Codes: `HUB_UNREACHABLE`, `HUB_STATUS`, `HUB_RETRY_LATER`, … */
export class HubFault extends RemoteError {
  readonly fault: Fault;

  constructor(
    code: string,
    message: string,
    { fault, ...details }: ErrorDetails & { readonly fault: Fault },
  ) {
    super(code, message, details);
    this.fault = fault;
  }
}

/** The status of a refusal; undefined for anything else that was thrown. */
export const statusOf = (thrown: unknown): number | undefined =>
  thrown instanceof HubFault ? (thrown.fault.status ?? undefined) : undefined;

/** A refusal in words. `said` is the server's own text, masked. */
export const faultOf = (
  { status, headers }: Response,
  { where, said, isUpload }: { readonly where: string; readonly said: string; readonly isUpload: boolean },
): HubFault => {
  const errorCode = headers.get("x-error-code");
  const text = said.trim().slice(0, MOST_SAID);
  const fault = { status, errorCode, mayBeDone: status === 408 || status >= 500, isUpload };
  const hint = hintOf(status, errorCode);
  return new HubFault("HUB_STATUS", `${where} answered ${status}${text === "" ? "" : `: ${text}`}`, {
    fault,
    ...(hint === undefined ? {} : { hint }),
  });
};

const MOST_SAID = 300;

const HINTS: Readonly<Record<string, string>> = {
  RepoNotFound:
    "check the name (OWNER/NAME); a private repository needs HF_TOKEN of an account that may read it",
  GatedRepo: "accept the conditions on the data set's page, and set HF_TOKEN of the same account",
  RevisionNotFound: "check --revision: a branch, tag or commit of that repository",
  EntryNotFound: "the file is not in that revision",
};

function hintOf(status: number, errorCode: string | null): string | undefined {
  const known = errorCode === null ? undefined : HINTS[errorCode];
  if (known !== undefined) return known;
  if (status === 401) return "set HF_TOKEN to a token that is valid (https://huggingface.co/settings/tokens)";
  if (status === 403)
    return "the token in HF_TOKEN may not do that; writing needs a token with write permission";
  if (status === 404) return HINTS["RepoNotFound"];
  if (status === 413) return "a file is too large to be sent this way";
  return status === 429 || status >= 500
    ? "run the same command again later: it goes on where it stopped"
    : undefined;
}
