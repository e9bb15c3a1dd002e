import type { ExecOptions, ExecOutcome, Transport } from "./transport.ts";

/** Exit codes of our own scripts: none of them is one that a shell or coreutils give. */
export const NOT_THERE = 44;
export const DIFFERS = 45;

/** Runs a POSIX shell script of ours; data reaches it as `$1`, `$2`, … only. */
export const farScript = async (
  transport: Transport,
  script: string,
  parameters: readonly string[],
  options: ExecOptions = {},
): Promise<ExecOutcome> =>
  transport.exec(["env", "LC_ALL=C", "sh", "-c", script, "sh", ...parameters], options);

/** For work that takes as long as a file is big, at a pace that even a crowded network filesystem keeps. */
export const deadlineFor = (bytes: number): number => 120_000 + bytes / SLOWEST_BYTES_PER_MILLISECOND;

const SLOWEST_BYTES_PER_MILLISECOND = 512;

/** Defines `hash`: SHA-256 of standard input. openssl is several times as fast as sha256sum where both are there. */
export const HASH_WORD =
  "hash() { if printf x | openssl dgst -sha256 -r >/dev/null 2>&1; then openssl dgst -sha256 -r; else sha256sum; fi; }";
