import { createServer, type RequestListener, type Server } from "node:http";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { systemClock, type Clock } from "../../src/core/clock.ts";
import { postJson, withoutUserinfo } from "../../src/core/http.ts";

describe("postJson", () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  const serve = async (listener: RequestListener): Promise<string> => {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((done) => {
      server.listen(0, "127.0.0.1", done);
    });
    const address = server.address();
    if (typeof address !== "object" || address === null) throw new Error("no address");
    return `http://127.0.0.1:${address.port}`;
  };
  const waits: number[] = [];
  const clock: Clock = {
    now: () => systemClock.now(),
    sleep: async (milliseconds, signal) => {
      signal?.throwIfAborted();
      waits.push(milliseconds);
    },
  };
  const Reply = z.object({ ok: z.boolean() });
  const ask = async (
    url: string,
    attempts: number,
    { signal, mask }: { signal?: AbortSignal; mask?: (text: string) => string } = {},
  ): Promise<unknown> =>
    postJson(
      {
        url,
        headers: { authorization: "Bearer hidden-value" },
        json: "{}",
        schema: Reply,
        timeout: 5000,
        attempts,
        signal,
      },
      { fetch, clock, ...(mask && { mask }) },
    );
  const failure = async (asked: Promise<unknown>): Promise<unknown> =>
    asked.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );

  it("waits as long as the server says, then succeeds", async () => {
    let calls = 0;
    waits.length = 0;
    const url = await serve((_request, response) => {
      calls++;
      if (calls === 1) response.writeHead(429, { "retry-after": "7" }).end();
      else if (calls === 2) response.writeHead(503).end();
      else response.end('{"ok":true}');
    });
    expect(await ask(url, 3)).toMatchObject({ reply: { ok: true } });
    expect(waits).toEqual([7000, 2000]);
  });

  it("does not repeat a final answer and keeps the key out of the error", async () => {
    let calls = 0;
    const url = await serve((_request, response) => {
      calls++;
      response.writeHead(400).end("bad key");
    });
    const error: unknown = await ask(url, 5).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "HTTP_STATUS", message: expect.stringContaining("400: bad key") });
    expect(JSON.stringify(error) + String(error)).not.toContain("hidden-value");
    expect(calls).toBe(1);
  });

  it("gives up after the last attempt and refuses a reply of another shape", async () => {
    const url = await serve((_request, response) => response.writeHead(500).end());
    await expect(ask(url, 2)).rejects.toMatchObject({ code: "HTTP_STATUS" });
    const odd = await serve((_request, response) => response.end('{"ok":"yes"}'));
    await expect(ask(odd, 2)).rejects.toMatchObject({ code: "FILE_INVALID" });
  });

  it("does not wait for hours: a long wait is an error that says how long", async () => {
    let calls = 0;
    waits.length = 0;
    const url = await serve((_request, response) => {
      calls++;
      response.writeHead(429, { "retry-after": calls === 1 ? "300" : "301" }).end("quota");
    });
    const error = await failure(ask(url, 9));
    expect(error).toMatchObject({ code: "HTTP_RETRY_LATER", message: expect.stringContaining("wait 301 s") });
    expect(waits).toEqual([300_000]);
    expect(calls).toBe(2);
  });

  it("says nothing that a server said of a key, and masks what else it said before cutting it", async () => {
    for (const status of [401, 403]) {
      const url = await serve((_request, response) => response.writeHead(status).end("bad key hidden-value"));
      const error = await failure(ask(url, 1));
      expect(String(error)).toContain(`answered ${status}`);
      expect(String(error)).not.toMatch(/hidden|bad key/);
    }
    const url = await serve((_request, response) =>
      response.writeHead(400).end(`${"x".repeat(295)}hidden-value`),
    );
    const masked = await failure(ask(url, 1, { mask: (text) => text.replaceAll("hidden-value", "[KEY]") }));
    expect(String(masked)).toContain("xxx[KEY]");
    expect(String(masked)).not.toContain("hidde");
  });

  it("shows neither the user of a URL nor its query", async () => {
    const url = await serve((_request, response) => response.writeHead(404).end());
    expect(String(await failure(ask(`${url}/v1?key=in-query`, 1)))).not.toContain("in-query");
    // fetch refuses such a URL and puts it into its own message.
    const error = await failure(ask("http://someone:in-url@127.0.0.1:9/v1", 1));
    expect(error).toMatchObject({ code: "HTTP_FAILED" });
    expect(String(error)).not.toContain("in-url");
    expect(withoutUserinfo("get https://a:b@c@d.example/x?y=e@f or http://g@h/")).toBe(
      "get https://d.example/x?y=e@f or http://h/",
    );
  });

  it("stops at once when told to, while it asks and while it waits", async () => {
    const stop = new AbortController();
    const hanging = await serve(() => stop.abort(new Error("enough")));
    await expect(ask(hanging, 3, { signal: stop.signal })).rejects.toThrow("enough");
    const second = new AbortController();
    let calls = 0;
    const broken = await serve((_request, response) => {
      calls++;
      response.writeHead(500).end(() => second.abort(new Error("enough of this")));
    });
    await expect(ask(broken, 3, { signal: second.signal })).rejects.toThrow("enough of this");
    expect(calls).toBe(1);
  });
});
