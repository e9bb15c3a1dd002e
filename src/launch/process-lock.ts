import { randomBytes, randomInt } from "node:crypto";
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { pid } from "node:process";
import { z } from "zod";
import type { Clock } from "../core/clock.ts";
import { InternalError, UserError } from "../core/errors.ts";
import { readIfExists, writeAtomic } from "../core/files.ts";
import { bootId, isRunning, processStatus } from "./process-identity.ts";

const Ticket = z.object({ pid: z.int(), startTime: z.string(), bootId: z.string() });
type Ticket = z.infer<typeof Ticket>;

/**
 * Runs `work` while no other process on this machine does, by tickets in `folder`. A killed holder's ticket is told by
 * pid, start time and boot, and removed. `onWait` is called once, with the holder's pid, when there is one. UserError
 * `LOCK_TICKET_INVALID` for a ticket that cannot be read.
 */
export const withProcessLock = async <Result>(
  folder: string,
  options: {
    readonly clock: Clock;
    readonly signal?: AbortSignal;
    readonly onWait?: (holder: number) => void;
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
  { clock, signal, onWait }: Parameters<typeof withProcessLock>[1],
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const own = `${pid}-${randomBytes(6).toString("hex")}.ticket`;
  const path = join(folder, own);
  const text = JSON.stringify(await ownTicket());
  let told = false;
  for (;;) {
    if ((await liveHolder(folder, own)) === undefined) {
      await writeAtomic(path, text);
      if ((await liveHolder(folder, own)) === undefined) return path;
      await rm(path, { force: true });
    }
    const holder = await liveHolder(folder, own);
    if (holder !== undefined && !told) onWait?.(holder.pid);
    told ||= holder !== undefined;
    await clock.sleep(200 + randomInt(800), signal);
  }
}

async function liveHolder(folder: string, own: string): Promise<Ticket | undefined> {
  const boot = await bootId();
  for (const name of await readdir(folder)) {
    if (name === own || !name.endsWith(".ticket")) continue;
    const ticket = await readTicket(join(folder, name));
    if (ticket === undefined) continue;
    if (ticket.bootId === boot && (await isRunning(ticket))) return ticket;
    await rm(join(folder, name), { force: true });
  }
  return undefined;
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
  return { pid, startTime: status.startTime, bootId: await bootId() };
}
