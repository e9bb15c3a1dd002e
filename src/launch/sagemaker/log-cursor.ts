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

/** The position behind some events; the earlier one where there were none. */
export const behind = (
  before: StreamPosition | undefined,
  events: readonly { readonly timestamp: number }[],
  page: Pick<StreamPosition, "token" | "from" | "at">,
): StreamPosition => {
  const newest = Math.max(before?.lastTimestamp ?? 0, ...events.map(({ timestamp }) => timestamp));
  const same = events.filter(({ timestamp }) => timestamp === newest).length;
  const earlier = before !== undefined && before.lastTimestamp === newest ? before.lastCount : 0;
  return { ...page, lastTimestamp: newest, lastCount: earlier + same };
};
