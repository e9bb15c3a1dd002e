import { randomUUID } from "node:crypto";
import { z } from "zod";
import { RemoteError } from "../core/errors.ts";
import type { Clock } from "../core/clock.ts";
import type { Database } from "./database.ts";

/** The right to act on one run. Every guarded write takes it, and fails once somebody else holds the run. */
export interface Lease {
  readonly runId: string;
  readonly owner: string;
  readonly token: string;
  /** Milliseconds since the epoch; from then on anybody may take the run over. */
  readonly expiresAt: number;
}

export type LeaseAnswer =
  | { readonly outcome: "acquired"; readonly lease: Lease; readonly takenFrom: string | null }
  | { readonly outcome: "held"; readonly owner: string; readonly expiresAt: number };

export interface LeaseRequest {
  /** Who asks, for people and for `replacing`: e.g. host, pid and start time. */
  readonly owner: string;
  readonly milliseconds: number;
  /** An owner that is known to be dead: its lease is taken over before it expires. */
  readonly replacing?: string;
}

const Row = z.object({ owner: z.string(), token: z.string(), expires_at: z.int() });

const read = (database: Database, runId: string): z.output<typeof Row> | undefined =>
  database.first(Row, "SELECT owner, token, expires_at FROM leases WHERE run_id = ?", runId);

/** To be called inside a transaction. A free, expired or abandoned lease is given out under a new token. */
export const acquireLease = (
  database: Database,
  clock: Clock,
  runId: string,
  { owner, milliseconds, replacing }: LeaseRequest,
): LeaseAnswer => {
  const now = clock.now();
  const present = read(database, runId);
  if (present && present.expires_at > now && present.owner !== replacing) {
    return { outcome: "held", owner: present.owner, expiresAt: present.expires_at };
  }
  const lease = { runId, owner, token: randomUUID(), expiresAt: now + milliseconds };
  database.run(
    "INSERT OR REPLACE INTO leases (run_id, owner, token, expires_at) VALUES (?, ?, ?, ?)",
    runId,
    owner,
    lease.token,
    lease.expiresAt,
  );
  return { outcome: "acquired", lease, takenFrom: present?.owner ?? null };
};

/**
 * To be called inside the transaction it guards. RemoteError `LEASE_LOST` when another holds the run. A lease that ran out
 * (a laptop asleep) but was taken by nobody still guards: nobody else has acted.
 */
export const assertHeld = (database: Database, lease: Lease): void => {
  const present = read(database, lease.runId);
  if (present?.token === lease.token) return;
  const holder = present ? `${present.owner} has` : "nobody has";
  throw new RemoteError("LEASE_LOST", `The lease on run ${lease.runId} is lost: ${holder} it now`, {
    hint: "whoever holds it goes on with the run; nothing was changed here",
  });
};

export const renewLease = (database: Database, clock: Clock, lease: Lease, milliseconds: number): Lease => {
  assertHeld(database, lease);
  const renewed = { ...lease, expiresAt: clock.now() + milliseconds };
  database.run("UPDATE leases SET expires_at = ? WHERE run_id = ?", renewed.expiresAt, lease.runId);
  return renewed;
};

/** Gives the run back; does nothing when it is held by another already. */
export const releaseLease = (database: Database, lease: Lease): void => {
  database.run("DELETE FROM leases WHERE run_id = ? AND token = ?", lease.runId, lease.token);
};
