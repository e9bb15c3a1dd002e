import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach } from "vitest";
import type { SshAccess, SshEndpoint } from "../../../src/launch/profile.ts";
import { openTransport, type ExecOutcome, type Transport } from "../../../src/launch/transport/index.ts";
import { sshBench, world, type SshBench } from "./ssh-bench.ts";

export type Kind = "ssh2" | "openssh";
export const KINDS: readonly Kind[] = ["ssh2", "openssh"];

/** What to undo after each test, last one first. */
export const clean: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of clean.splice(0).toReversed()) await step();
});

/** A bench that is removed after the test. */
export async function bench(kind: Kind, options: Parameters<typeof sshBench>[1] = {}): Promise<SshBench> {
  const made = await sshBench(kind, options);
  clean.push(async () => made.remove());
  return made;
}

/** A transport on it that is closed after the test. */
export async function open(
  { endpoint, access }: { readonly endpoint: SshEndpoint; readonly access: SshAccess },
  more: { readonly endpoint?: Partial<SshEndpoint>; readonly access?: Partial<SshAccess> } = {},
): Promise<Transport> {
  const transport = await openTransport(
    { ...endpoint, ...more.endpoint },
    { ...access, ...more.access },
    world,
  );
  clean.push(async () => transport.close());
  return transport;
}

export const wordsOf = (outcome: ExecOutcome): string =>
  outcome.kind === "transport-error" ? `${outcome.reason} ${outcome.hint ?? ""}` : outcome.kind;

export const sshdLog = (folder: string, port: number): string =>
  readFileSync(join(folder, `sshd-${port}.log`), "utf8");
