import { z } from "zod";
import { messageOf, UserError } from "../../core/errors.ts";
import type { LogCursor } from "../schema.ts";

const StreamPosition = z.strictObject({
  token: z.string(),
  /** Beginning of the reading that the token belongs to: the service wants both, milliseconds since the epoch. */
  from: z.number(),
  /** When the token was given, milliseconds since the epoch: it is good for a day. */
  at: z.number(),
  /** Time of the newest event that was handed on, and how many of that same time were. */
  lastTimestamp: z.number(),
  lastCount: z.int().nonnegative(),
  /** Of those, the ones that a reading which began at that time has not come to: they are left out when they come. */
  over: z.int().nonnegative().default(0),
});
export type StreamPosition = z.infer<typeof StreamPosition>;

const Positions = z.strictObject({ v: z.literal(1), streams: z.record(z.string(), StreamPosition) });
export type Positions = Readonly<Record<string, StreamPosition>>;

/** Positions of all streams out of a saved cursor. UserError `LOG_CURSOR_INVALID`. */
export const positionsOf = (cursor: LogCursor): Positions => {
  if (cursor.token === undefined) return {};
  try {
    return Positions.parse(JSON.parse(cursor.token)).streams;
  } catch (error) {
    throw new UserError(
      "LOG_CURSOR_INVALID",
      `The saved position in the log cannot be read: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
};

export const cursorOf = (offset: number, streams: Positions): LogCursor => ({
  offset,
  token: JSON.stringify({ v: 1, streams }),
});

/**
 * What is new of a page, and how many seen events are still to come: of the events at the newest time, as many as were handed
 * on come first, for a stream keeps the order in which they arrived. They may fill more than one page.
 */
export const withoutSeen = <Event extends { readonly timestamp: number }>(
  events: readonly Event[],
  { lastTimestamp }: Pick<StreamPosition, "lastTimestamp">,
  seen: number,
): { readonly fresh: readonly Event[]; readonly over: number } => {
  let over = seen;
  const fresh = events.filter(({ timestamp }) => {
    if (timestamp !== lastTimestamp || over === 0) return timestamp >= lastTimestamp;
    over -= 1;
    return false;
  });
  return { fresh, over };
};

/** The position behind some events; the earlier one where there were none. */
export const behind = (
  before: StreamPosition | undefined,
  events: readonly { readonly timestamp: number }[],
  page: Pick<StreamPosition, "token" | "from" | "at" | "over">,
): StreamPosition => {
  const newest = Math.max(before?.lastTimestamp ?? 0, ...events.map(({ timestamp }) => timestamp));
  const same = events.filter(({ timestamp }) => timestamp === newest).length;
  const isSame = before !== undefined && before.lastTimestamp === newest;
  const lastCount = (isSame ? before.lastCount : 0) + same;
  return { ...page, over: isSame ? page.over : 0, lastTimestamp: newest, lastCount };
};
