import { describe, expect, it } from "vitest";
import { askedWait } from "../../../src/dataset/hub/asked-wait.ts";

describe("the wait that a server asks for", () => {
  it.each([
    [{ "retry-after": "17" }, 17_000],
    [{ "retry-after": "Fri, 01 May 2026 00:00:30 GMT" }, 20_000],
    [{ "retry-after": "Fri, 01 May 2026 00:00:30 GMT", date: "Fri, 01 May 2026 00:00:25 GMT" }, 5000],
    [{ "retry-after": "Fri, 01 May 2026 00:00:00 GMT" }, 0],
    [{ ratelimit: '"api";r=0;t=55' }, 55_000],
    [{ ratelimit: '"api";r=0; t=7' }, 7000],
    [{ "retry-after": "soon" }, 0],
    [{}, 0],
  ])("of %j is %d ms", (headers, wait) => {
    expect(askedWait(new Headers(headers), Date.parse("2026-05-01T00:00:10Z"))).toBe(wait);
  });
});
