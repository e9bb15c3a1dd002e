import type { Answer } from "./faults.ts";
import type { Repository } from "./repository.ts";

/** What the fake Hub is and does; change it at any time. */
export interface HubState {
  url: string;
  /** Another origin, as the real Hub's storage is: no token may ever get there. */
  storageUrl: string;
  readonly repositories: Map<string, Repository>;
  pageSize: number;
  relativeLinks: boolean;
  /** Larger files become large files, whatever their name. */
  regularBytes: number;
  filesPerCommit: number;
  /** Uploads above this go in parts of `partBytes`. */
  multipartAbove: number;
  partBytes: number;
  /** Parts that have come, by object and number. */
  readonly parts: Map<string, Map<number, Buffer>>;
}

/** A request, read whole. */
export interface Received {
  readonly method: string;
  readonly url: URL;
  readonly body: Buffer;
  /** Whether it carries the right token. */
  readonly authorized: boolean;
  header(name: string): string | undefined;
  text(): string;
}

/** The repository, if there is one that the caller may see. */
export const visible = (state: HubState, { authorized }: Received, id: string): Repository | undefined => {
  const repository = state.repositories.get(id);
  return repository && (authorized || !repository.isPrivate) ? repository : undefined;
};

export const json = (value: unknown, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status: 200,
  headers: { "content-type": "application/json; charset=utf-8", ...headers },
  body: JSON.stringify(value),
});

/** A refusal as the Hub words it. */
export const failure = (status: number, code: string | null, message: string): Answer => ({
  status,
  headers: {
    "content-type": "application/json; charset=utf-8",
    "x-error-message": message,
    ...(code === null ? {} : { "x-error-code": code }),
  },
  body: JSON.stringify({ error: message }),
});
