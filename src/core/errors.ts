/** Who has to act: the person at the keyboard, the remote side, or us. Exit codes follow from it. */
export type Actor = "user" | "preflight" | "remote" | "bug";

export interface ErrorDetails {
  /** What to do next, one sentence. */
  readonly hint?: string;
  readonly cause?: unknown;
}

/** Base of every error we raise on purpose: a stable code for scripts, a sentence for people, a hint for what to do. */
export class UnderstudyError extends Error {
  readonly actor: Actor;
  readonly code: string;
  readonly hint: string | undefined;

  constructor(actor: Actor, code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.actor = actor;
    this.code = code;
    this.hint = details.hint;
  }
}

/** Invalid input or usage: exit code 2. */
export class UserError extends UnderstudyError {
  constructor(code: string, message: string, details?: ErrorDetails) {
    super("user", code, message, details);
  }
}

/** A check before the start said no: exit code 3. */
export class PreflightError extends UnderstudyError {
  constructor(code: string, message: string, details?: ErrorDetails) {
    super("preflight", code, message, details);
  }
}

/** A machine, job or provider failed: exit code 4. */
export class RemoteError extends UnderstudyError {
  constructor(code: string, message: string, details?: ErrorDetails) {
    super("remote", code, message, details);
  }
}

/** Something that must not happen did: exit code 1. */
export class InternalError extends UnderstudyError {
  constructor(code: string, message: string, details?: ErrorDetails) {
    super("bug", code, message, details);
  }
}

/** The message of anything thrown. */
export const messageOf = (thrown: unknown): string =>
  thrown instanceof Error ? thrown.message : String(thrown);

/** The system error code (`ENOENT`, `EEXIST`, …) of anything thrown, if it has one. */
export const systemCode = (thrown: unknown): string | undefined =>
  thrown instanceof Error && "code" in thrown && typeof thrown.code === "string" ? thrown.code : undefined;

const SYSTEM_TEXTS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EEXIST: "something of that name is there already",
  EISDIR: "it is a folder; a file was expected",
  ELOOP: "its symbolic links lead in a circle",
  EMFILE: "too many files are open",
  ENAMETOOLONG: "the name is too long",
  ENOENT: "there is no such file or folder",
  ENOSPC: "no space left on the disk",
  ENOTDIR: "a part of the path is a file, not a folder",
  ENOTEMPTY: "the folder is not empty",
  EPERM: "not permitted",
  EROFS: "the filesystem is read-only",
};

/** What the system refused, in words: `permission denied`; the message of anything else. */
export const systemText = (thrown: unknown): string =>
  SYSTEM_TEXTS[systemCode(thrown) ?? ""] ?? messageOf(thrown);

/** The path that a system error is about, if it names one. */
export const systemPath = (thrown: unknown): string | undefined =>
  thrown instanceof Error && "path" in thrown && typeof thrown.path === "string" ? thrown.path : undefined;
