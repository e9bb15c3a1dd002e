import { randomBytes, randomInt } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pid } from "node:process";
import { z } from "zod";
import type { Clock } from "./clock.ts";
import { InternalError, UserError } from "./errors.ts";
import { readIfExists, writeAtomic } from "./files.ts";
import { bootId, isForeign, isRunning, pidNamespace, processStatus } from "./process-identity.ts";

const Ticket = z.object({
  pid: z.int(),
  startTime: z.string(),
  bootId: z.string(),
  pidNamespace: z.string().optional(),
});
type Ticket = z.infer<typeof Ticket>;

interface Holder {
  readonly pid: number;
  readonly path: string;
  /** Of another pid namespace: whether it lives cannot be told from here. */
  readonly foreign: boolean;
}

// Longer than anything that is done under a lock takes.
const PATIENCE = 3600_000;

/**
 * Runs `work` while no other process on this machine does, by tickets in `folder`. A killed holder's ticket is told by
 * pid, start time and boot, and removed; that of another pid namespace (a container) is waited for, but not for ever. `onWait` is
 * called once, with the holder's pid, when there is one. UserErrors `LOCK_TICKET_INVALID` for a ticket that cannot be read,
 * `LOCK_HELD_ELSEWHERE`.
 */
export const withProcessLock = async <Result>(
  folder: string,
  options: {
    readonly clock: Clock;
    readonly signal?: AbortSignal;
    readonly onWait?: (holder: number) => void;
    /**
     * `ignore`: a ticket of another container counts for nothing, where two at once would only do the same work twice. Default:
     * it is waited for.
     */
    readonly foreign?: "wait" | "ignore";
  },
  work: () => Promise<Result>,
): Promise<Result> => {
  const ticket = await acquire(folder, options);
  try {
    return await work();
  } finally {
    await rm(ticket, { force: true });
  }
};

// Every ticket has a name of its own, so removing a dead one can never hit a live one. All write before they look: of two
// that come together at least one sees the other. Who sees another steps back.
async function acquire(
  folder: string,
  { clock, signal, onWait, foreign = "wait" }: Parameters<typeof withProcessLock>[1],
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const own = `${pid}-${randomBytes(6).toString("hex")}.ticket`;
  const path = join(folder, own);
  const text = JSON.stringify(await ownTicket());
  let told = false;
  const since = clock.now();
  for (;;) {
    if ((await liveHolder(folder, own, foreign)) === undefined) {
      await writeAtomic(path, text);
      if ((await liveHolder(folder, own, foreign)) === undefined) return path;
      await rm(path, { force: true });
    }
    const holder = await liveHolder(folder, own, foreign);
    if (holder !== undefined && !told) onWait?.(holder.pid);
    told ||= holder !== undefined;
    if (holder?.foreign === true && clock.now() - since > PATIENCE) throw heldElsewhere(holder);
    await clock.sleep(200 + randomInt(800), signal);
  }
}

async function liveHolder(
  folder: string,
  own: string,
  foreigners: "wait" | "ignore",
): Promise<Holder | undefined> {
  const boot = await bootId();
  for (const name of await readdir(folder)) {
    if (name === own || !name.endsWith(".ticket")) continue;
    const path = join(folder, name);
    const ticket = await readTicket(path);
    if (ticket === undefined) continue;
    const foreign = ticket.bootId === boot && (await isForeign(ticket.pidNamespace));
    if (foreign && foreigners === "ignore") continue;
    if (foreign || (ticket.bootId === boot && (await isRunning(ticket)))) {
      return { pid: ticket.pid, path, foreign };
    }
    await rm(path, { force: true });
  }
  return undefined;
}

function heldElsewhere({ pid: holder, path }: Holder): UserError {
  return new UserError(
    "LOCK_HELD_ELSEWHERE",
    `${path} is held by process ${holder} of another container of this machine, for over an hour`,
    { hint: "delete that file when nothing of this program is running in that container any more" },
  );
}

async function readTicket(path: string): Promise<Ticket | undefined> {
  const text = await readIfExists(path);
  if (text === undefined) return undefined;
  try {
    return Ticket.parse(JSON.parse(text));
  } catch (error) {
    // Tickets are written whole. Taking this one for nothing could let two in at once.
    throw new UserError("LOCK_TICKET_INVALID", `${path} cannot be read: it is no ticket of this program`, {
      hint: "delete it when nothing of this program is running in this project",
      cause: error,
    });
  }
}

async function ownTicket(): Promise<Ticket> {
  const status = await processStatus(pid);
  if (status === undefined)
    throw new InternalError("PROCESS_UNKNOWN", `The system does not know process ${pid}`);
  const namespace = await pidNamespace();
  return {
    pid,
    startTime: status.startTime,
    bootId: await bootId(),
    ...(namespace === undefined ? {} : { pidNamespace: namespace }),
  };
}
