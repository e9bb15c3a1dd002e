import { messageOf } from "../../core/errors.ts";

/** What a failed call of a provider's API tells about its effect. */
export type Fault =
  | "throttled"
  | "in-use"
  | "not-found"
  | "over-limit"
  | "refused"
  /** Refused before it was looked at, for want of a valid login: certainly nothing was done, and logging in again heals it. */
  | "credentials"
  /** The connection was never made: certainly nothing was done. */
  | "unsent"
  /** Lost reply, deadline, server error: it may have been done. */
  | "unclear";

const THROTTLED = new Set([
  "ThrottlingException",
  "Throttling",
  "ThrottledException",
  "TooManyRequestsException",
  "RequestLimitExceeded",
  "ProvisionedThroughputExceededException",
  "SlowDown",
]);
const UNSENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "EPROTO"]);
const BEFORE_SENDING = new Set(["ERR_TLS_CERT_ALTNAME_INVALID"]);
// Each service has a name of its own for the same thing.
const CREDENTIALS = new Set([
  "CredentialsProviderError",
  "TokenProviderError",
  "ExpiredToken",
  "ExpiredTokenException",
  "RequestExpired",
  "TokenRefreshRequired",
  "UnrecognizedClient",
  "UnrecognizedClientException",
  "InvalidClientTokenId",
  "InvalidAccessKeyId",
  "InvalidToken",
  // A wrong secret key, or a clock that is wrong.
  "InvalidSignatureException",
  "SignatureDoesNotMatch",
  "IncompleteSignature",
  "RequestTimeTooSkewed",
  "MissingAuthenticationToken",
  "MissingAuthenticationTokenException",
]);

const NAMED: Readonly<Record<string, Fault>> = {
  ResourceInUse: "in-use",
  ResourceInUseException: "in-use",
  ResourceLimitExceeded: "over-limit",
};

/** Total: an error of any kind has one of these meanings, `unclear` when nothing else is certain. */
export const faultOf = (error: unknown): Fault => {
  const { name, code, status, message } = partsOf(error);
  if (THROTTLED.has(name) || status === 429) return "throttled";
  if (CREDENTIALS.has(name)) return "credentials";
  if (BEFORE_SENDING.has(name) || UNSENT.has(code)) return "unsent";
  const named = NAMED[name];
  if (named !== undefined) return named;
  if (isMissing(name, message, status)) return "not-found";
  return isRefusal(name, status) ? "refused" : "unclear";
};

function isRefusal(name: string, status = 0): boolean {
  // The head of an object is refused without a word: an expired login looks like that, too.
  if (status === 400 && ["UnknownError", "BadRequest", ""].includes(name)) return false;
  return status >= 400 && status < 500 && status !== 408;
}

/** Whether the service itself has answered: its errors have names, those of gateways on the way have numbers. */
export const isAnswer = (error: unknown): boolean => {
  const { name } = partsOf(error);
  return !["", "Error", "UnknownError", "SyntaxError", "BadRequest"].includes(name) && !/^\d+$/.test(name);
};

/** What to do about `credentials`. */
export const LOGIN_HINT = "log in again (aws sso login), or set new AWS_… variables; nothing is lost";

/** Why nothing is known: the provider's words, and what to do where that is certain. */
export const unavailableText = (error: unknown): string =>
  faultOf(error) === "credentials" ? `${faultText(error)}; ${LOGIN_HINT}` : faultText(error);

/** The provider's own words, with the name of the error. */
export const faultText = (error: unknown): string => {
  const { name, code } = partsOf(error);
  const label = [name, code].find((word) => word !== "" && word !== "Error") ?? "";
  const said = messageOf(error).trim();
  return label === "" || said.startsWith(label) ? said : said === "" ? label : `${label}: ${said}`;
};

function isMissing(name: string, message: string, status: number | undefined): boolean {
  if (
    ["ResourceNotFound", "ResourceNotFoundException", "NoSuchKey", "NotFound", "NoSuchBucket"].includes(name)
  )
    return true;
  // DescribeTrainingJob and StopTrainingJob have no error of their own for this.
  return (name === "ValidationException" && /could not find|not found/i.test(message)) || status === 404;
}

/** Of the provider's answer; undefined without one. */
export const statusOf = (error: unknown): number | undefined => partsOf(error).status;

function partsOf(error: unknown): {
  readonly name: string;
  readonly code: string;
  readonly status: number | undefined;
  readonly message: string;
} {
  if (!(error instanceof Error)) return { name: "", code: "", status: undefined, message: String(error) };
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const metadata: unknown = "$metadata" in error ? error.$metadata : undefined;
  const status =
    typeof metadata === "object" && metadata !== null && "httpStatusCode" in metadata
      ? metadata.httpStatusCode
      : undefined;
  return {
    name: error.name,
    code: code === "" && error.cause !== undefined ? partsOf(error.cause).code : code,
    status: typeof status === "number" ? status : undefined,
    message: error.message,
  };
}
