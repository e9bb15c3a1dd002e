import { UserError } from "../../core/errors.ts";

export const DEFAULT_HUB_URL = "https://huggingface.co";

/** Checks `OWNER/NAME` (a leading `datasets/` is taken off). UserError `REPO_INVALID`. */
export const repoId = (given: string): string => {
  const id = given.startsWith("datasets/") ? given.slice("datasets/".length) : given;
  const parts = id.split("/");
  if (
    parts.length === 2 &&
    parts.every((part) => /^[A-Za-z0-9][\w.-]{0,95}$/.test(part) && !part.includes(".."))
  )
    return id;
  throw new UserError("REPO_INVALID", `"${given}" is not the name of a data set repository`, {
    hint: "write OWNER/NAME: your user name or organisation on the Hub, and the repository",
  });
};

/** The Hub's root from `HF_ENDPOINT`. UserError `HF_ENDPOINT_INVALID`. */
export const hubUrlFrom = (endpoint: string | undefined): string => {
  if (!endpoint) return DEFAULT_HUB_URL;
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url && /^https?:$/.test(url.protocol) && url.username === "" && url.search === "")
    return endpoint.replace(/\/+$/, "");
  throw new UserError("HF_ENDPOINT_INVALID", "HF_ENDPOINT is not the address of a Hub", {
    hint: "write https://HOST, without a user name or a query, or leave it unset",
  });
};

/** The token as the Hub takes it; undefined without one. UserError `HF_TOKEN_INVALID` never quotes it. */
export const hubTokenFrom = (token: string | undefined): string | undefined => {
  const trimmed = token?.trim() ?? "";
  if (trimmed === "") return undefined;
  if (/^hf_[\x21-\x7e]+$/.test(trimmed)) return trimmed;
  throw new UserError("HF_TOKEN_INVALID", "HF_TOKEN is not a token of the Hub: those start with hf_", {
    hint: "make one at https://huggingface.co/settings/tokens",
  });
};

/** A path of a repository for a URL: every part is encoded, so `#`, `?`, `%`, spaces and any script survive. */
export const encodedPath = (path: string): string => path.split("/").map(encodeURIComponent).join("/");

/** True for a path that stays inside the folder it is written to, on any system. */
export const isInside = (path: string): boolean =>
  path !== "" &&
  !/[\0\\]/.test(path) &&
  path
    .split("/")
    .every((part) => part !== "" && part !== "." && part !== ".." && Buffer.byteLength(part) <= 255);
