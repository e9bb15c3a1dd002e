import { randomUUID } from "node:crypto";
import { z } from "zod";
import { RemoteError } from "../core/errors.ts";
import type { Value } from "./database.ts";
import type { Lease } from "./leases.ts";
import { jsonText, type StoreParts } from "./store-parts.ts";
import type { Store } from "./store.ts";

/** How far a run's record has been copied to one tracking server. */
export interface MirrorRow {
  readonly runId: string;
  /** Server and experiment; never a credential. */
  readonly target: string;
  readonly experimentId: string | null;
  /** The server's own id of the run. */
  readonly remoteId: string | null;
  /** When a creation was sent whose reply never came, in milliseconds since the epoch. */
  readonly askedAt: number | null;
  /** Points were sent whose reply never came. */
  readonly doubtful: boolean;
  /** Sequence of the last event that everything follows from which is there. */
  readonly seen: number;
  /** Sequence of the last event whose points are all there, or never will be. */
  readonly settled: number;
  /** The highest step that is there, by metric key. */
  readonly marks: Readonly<Record<string, number>>;
  /** Digests of the parameters and of tags and status that are there. */
  readonly told: { readonly params?: string | undefined; readonly state?: string | undefined };
  /** Why it is behind, in words, and since when (ISO time). */
  readonly trouble: string | null;
  readonly troubleSince: string | null;
}

export type MirrorChange = Partial<Omit<MirrorRow, "runId" | "target">>;

/**
 * The table `mirrors`. The buffer is the store itself: a row only says up to where it was copied, and moves after the
 * server's own word. It has leases of its own: a server that hangs must not keep anybody from acting on the run.
 */
export interface MirrorTable {
  /** From now on the run is copied to this target. */
  open(runId: string, target: string): void;
  find(runId: string, target: string): MirrorRow | undefined;
  /** All targets of a run, in the order in which they were opened. */
  of(runId: string): readonly MirrorRow[];
  /** Runs with events that have not been copied yet, oldest first, whether they have ended or not. */
  behind(target: string): readonly string[];
  /** The right to copy runs to a target. */
  leases(target: string): Pick<Store, "acquireLease" | "renewLease" | "releaseLease">;
  /** RemoteError `LEASE_LOST` when another copies the run by now. */
  save(lease: Lease, target: string, change: MirrorChange): MirrorRow;
}

const json = <Schema extends z.ZodType>(schema: Schema) =>
  z.string().transform((text): z.output<Schema> => schema.parse(JSON.parse(text)));

const Row = z
  .object({
    run_id: z.string(),
    target: z.string(),
    experiment_id: z.string().nullable(),
    remote_id: z.string().nullable(),
    asked_at: z.int().nullable(),
    doubtful: z.int(),
    seen: z.int(),
    settled: z.int(),
    marks: json(z.record(z.string(), z.number())),
    told: json(z.object({ params: z.string().optional(), state: z.string().optional() })),
    trouble: z.string().nullable(),
    trouble_since: z.string().nullable(),
  })
  .transform((row): MirrorRow => ({
    runId: row.run_id,
    target: row.target,
    experimentId: row.experiment_id,
    remoteId: row.remote_id,
    askedAt: row.asked_at,
    doubtful: row.doubtful !== 0,
    seen: row.seen,
    settled: row.settled,
    marks: row.marks,
    told: row.told,
    trouble: row.trouble,
    troubleSince: row.trouble_since,
  }));

const Held = z.object({ owner: z.string().nullable(), token: z.string().nullable(), expires_at: z.int() });
const Id = z.object({ id: z.string() });

export const mirrorTable = ({ database, clock }: StoreParts): MirrorTable => {
  const find: MirrorTable["find"] = (runId, target) =>
    database.first(Row, "SELECT * FROM mirrors WHERE run_id = ? AND target = ?", runId, target);
  const holder = (runId: string, target: string): z.output<typeof Held> | undefined =>
    database.first(
      Held,
      "SELECT owner, token, expires_at FROM mirrors WHERE run_id = ? AND target = ?",
      runId,
      target,
    );
  const assertHeld = ({ runId, token }: Lease, target: string): void => {
    if (holder(runId, target)?.token === token) return;
    throw new RemoteError("LEASE_LOST", `Another program copies run ${runId} to ${target} by now`);
  };
  const setLease = (
    { runId, owner, token, expiresAt }: { [Key in keyof Lease]: Lease[Key] | null } & { runId: string },
    target: string,
  ): void => {
    database.run(
      "UPDATE mirrors SET owner = ?, token = ?, expires_at = ? WHERE run_id = ? AND target = ?",
      owner,
      token,
      expiresAt ?? 0,
      runId,
      target,
    );
  };
  return {
    find,
    open: (runId, target) => {
      if (find(runId, target) !== undefined) return;
      database.run("INSERT OR IGNORE INTO mirrors (run_id, target) VALUES (?, ?)", runId, target);
    },
    of: (runId) => database.all(Row, "SELECT * FROM mirrors WHERE run_id = ? ORDER BY rowid", runId),
    behind: (target) =>
      database
        .all(
          Id,
          `SELECT run_id AS id FROM mirrors WHERE target = ?
           AND seen < (SELECT max(sequence) FROM events WHERE events.run_id = mirrors.run_id) ORDER BY rowid`,
          target,
        )
        .map(({ id }) => id),
    leases: (target) => ({
      acquireLease: (runId, { owner, milliseconds, replacing }) =>
        database.transaction(() => {
          const now = clock.now();
          const present = holder(runId, target);
          const held = present?.token ? present : undefined;
          if (held && held.expires_at > now && held.owner !== replacing) {
            return { outcome: "held", owner: held.owner ?? "", expiresAt: held.expires_at };
          }
          const lease = { runId, owner, token: randomUUID(), expiresAt: now + milliseconds };
          setLease(lease, target);
          return { outcome: "acquired", lease, takenFrom: held?.owner ?? null };
        }),
      renewLease: (lease, milliseconds) =>
        database.transaction(() => {
          assertHeld(lease, target);
          const renewed = { ...lease, expiresAt: clock.now() + milliseconds };
          setLease(renewed, target);
          return renewed;
        }),
      releaseLease: (lease) => {
        database.transaction(() => {
          if (holder(lease.runId, target)?.token !== lease.token) return;
          setLease({ runId: lease.runId, owner: null, token: null, expiresAt: null }, target);
        });
      },
    }),
    save: (lease, target, change) =>
      database.transaction(() => {
        assertHeld(lease, target);
        const entries = columns(change);
        database.run(
          `UPDATE mirrors SET ${entries.map(([column]) => `${column} = ?`).join(", ")} WHERE run_id = ? AND target = ?`,
          ...entries.map(([, value]) => value),
          lease.runId,
          target,
        );
        const saved = find(lease.runId, target);
        if (saved) return saved;
        throw new RemoteError("LEASE_LOST", `Run ${lease.runId} is not copied to ${target} any more`);
      }),
  };
};

function columns(change: MirrorChange): readonly (readonly [string, Value])[] {
  const all: readonly (readonly [string, Value | undefined])[] = [
    ["experiment_id", change.experimentId],
    ["remote_id", change.remoteId],
    ["asked_at", change.askedAt],
    ["doubtful", change.doubtful === undefined ? undefined : Number(change.doubtful)],
    ["seen", change.seen],
    ["settled", change.settled],
    ["marks", change.marks && jsonText(change.marks)],
    ["told", change.told && jsonText(change.told)],
    ["trouble", change.trouble],
    ["trouble_since", change.troubleSince],
  ];
  return all.flatMap(([column, value]) => (value === undefined ? [] : [[column, value] as const]));
}
