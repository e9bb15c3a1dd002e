/**
 * Milliseconds that a refusal asks to wait, 0 when it does not say: `Retry-After` as seconds or as an HTTP date, else the
 * `t=` of `RateLimit` (seconds to the end of the window). A date is read against the server's own clock when it sends
 * one, so that a wrong clock here does not matter.
 */
export const askedWait = (headers: Headers, now: number): number => {
  const asked = headers.get("retry-after")?.trim() ?? "";
  if (/^\d+$/.test(asked)) return Number(asked) * 1000;
  const until = Date.parse(asked);
  if (!Number.isNaN(until)) return Math.max(0, until - (serverTime(headers) ?? now));
  const window = /(?:^|[;,\s])t=(\d+)/.exec(headers.get("ratelimit") ?? "");
  return window ? Number(window[1]) * 1000 : 0;
};

function serverTime(headers: Headers): number | undefined {
  const time = Date.parse(headers.get("date") ?? "");
  return Number.isNaN(time) ? undefined : time;
}
