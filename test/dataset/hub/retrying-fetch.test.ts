import { createServer, type RequestListener } from "node:http";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { FileBlob } from "../../../src/dataset/hub/file-blob.ts";
import type { HubWorld } from "../../../src/dataset/hub/hub-world.ts";
import { retryingFetch } from "../../../src/dataset/hub/retrying-fetch.ts";
import { temporaryProject } from "../../support/temporary-project.ts";
import { impatientClock } from "./support.ts";

const TOKEN = "hf_secretOfThisTest";

interface Scene {
  readonly url: string;
  readonly world: HubWorld;
  readonly waits: readonly number[];
  readonly seen: {
    readonly method: string;
    readonly authorization: string | undefined;
    readonly body: string;
  }[];
}

/** A server that answers each request by the next of the replies, the last one for ever. */
const serverOf = async (...replies: RequestListener[]): Promise<Scene> => {
  const seen: Scene["seen"] = [];
  const server = createServer((request, response) => {
    const reply = replies[Math.min(seen.length, replies.length - 1)];
    const entry = { method: request.method ?? "", authorization: request.headers.authorization, body: "" };
    seen.push(entry);
    request.on("data", (chunk: Buffer) => (entry.body += chunk.toString()));
    request.on("end", () => reply?.(request, response));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const clock = impatientClock();
  return {
    url,
    seen,
    waits: clock.waits,
    world: { hubUrl: url, token: TOKEN, fetch: globalThis.fetch, clock },
  };
};

const answer =
  (status: number, headers: Record<string, string> = {}, body = ""): RequestListener =>
  (_, response) =>
    response.writeHead(status, headers).end(body);
const ok = answer(200, {}, "fine");
const reset: RequestListener = (request) => request.socket.destroy();

const get = async ({ world, url }: Scene, path = "/x", init: RequestInit = {}): Promise<string> =>
  (
    await retryingFetch(world)(`${url}${path}`, { headers: { authorization: `Bearer ${TOKEN}` }, ...init })
  ).text();

describe("a request", () => {
  it.each([
    ["429 with a wait", answer(429, { "retry-after": "30" }), [30_000]],
    ["429 of a window", answer(429, { ratelimit: '"api";r=0;t=9' }), [9000]],
    ["408", answer(408), [1000]],
    ["503", answer(503), [1000]],
    ["a reset", reset, [1000]],
    ["a reply cut in its middle", cutAt(3), [1000]],
  ])("is asked again after %s", async (_, first, waits) => {
    const scene = await serverOf(first, ok);
    expect(await get(scene)).toBe("fine");
    expect(scene.waits).toEqual(waits);
  });

  it("is given up after the attempts of the policy, with longer and longer waits", async () => {
    const scene = await serverOf(answer(502, { "content-type": "text/html" }, "<html>bad gateway"));
    const error: unknown = await get(scene).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "HUB_STATUS",
      actor: "remote",
      message: expect.not.stringContaining("<html>"),
    });
    expect(scene.seen).toHaveLength(8);
    expect(scene.waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000]);
  });

  it("is given up when its time is used up", async () => {
    const scene = await serverOf(answer(429, { "retry-after": "3000" }));
    const world = { ...scene.world, policy: { budgetMs: 7_000_000 } };
    await expect(get({ ...scene, world })).rejects.toMatchObject({ code: "HUB_STATUS" });
    expect(scene.waits).toEqual([3_000_000, 3_000_000]);
  });

  it("does not wait longer than a person would bear, and says how long", async () => {
    const scene = await serverOf(answer(429, { "retry-after": "7200" }));
    await expect(get(scene)).rejects.toMatchObject({
      code: "HUB_RETRY_LATER",
      message: expect.stringContaining("120 minutes"),
    });
    expect(scene.waits).toEqual([]);
  });

  it("is final at once when refused", async () => {
    const scene = await serverOf(
      answer(404, { "x-error-code": "RepoNotFound", "x-error-message": "no such thing" }),
      ok,
    );
    await expect(get(scene)).rejects.toMatchObject({
      fault: { status: 404, errorCode: "RepoNotFound" },
      message: expect.stringContaining("no such thing"),
    });
  });

  it("is ended when nothing moves, and asked again", async () => {
    const scene = await serverOf(() => undefined, ok);
    expect(await get({ ...scene, world: { ...scene.world, policy: { stallMs: 200 } } })).toBe("fine");
  });

  it("is ended when it only trickles", async () => {
    const trickle: RequestListener = (_, response) => {
      response.writeHead(200, { "content-length": "1000" });
      const timer = setInterval(() => response.write("x"), 20);
      response.on("close", () => clearInterval(timer));
    };
    const scene = await serverOf(trickle, ok);
    expect(await get({ ...scene, world: { ...scene.world, policy: { stallMs: 300 } } })).toBe("fine");
  });

  it("ends at once when the caller gives up, in a wait as well", async () => {
    const controller = new AbortController();
    const scene = await serverOf(answer(503));
    const world = {
      ...scene.world,
      signal: controller.signal,
      onPause: () => controller.abort(new Error("enough")),
    };
    await expect(get({ ...scene, world })).rejects.toThrow("enough");
    expect(scene.seen).toHaveLength(1);
  });

  it("sends a file's bytes anew with every attempt, and counts them once", async () => {
    const project = await temporaryProject();
    const file = await project.write("shard", "0123456789");
    const scene = await serverOf(answer(500), reset, ok);
    let sent = 0;
    const world = { ...scene.world, onSent: (bytes: number) => void (sent += bytes) };
    const body = (await FileBlob.of(file)).slice(2, 8);
    expect(await get({ ...scene, world }, "/x", { method: "PUT", body })).toBe("fine");
    expect(scene.seen.map((request) => request.body)).toEqual(["234567", "234567", "234567"]);
    expect(sent).toBe(6);
  });

  it("does not send a file that has changed since it was checked", async () => {
    const project = await temporaryProject();
    const body = await FileBlob.of(await project.write("shard", "0123456789"));
    await writeFile(join(project.root, "shard"), "another one");
    const scene = await serverOf(ok);
    await expect(get(scene, "/x", { method: "PUT", body })).rejects.toMatchObject({ code: "SHARD_CHANGED" });
  });

  it("does not send a file on to where an upload is redirected", async () => {
    const project = await temporaryProject();
    const body = await FileBlob.of(await project.write("shard", "0123456789"));
    const scene = await serverOf(answer(307, { location: "/elsewhere" }), ok);
    await expect(get(scene, "/x", { method: "PUT", body })).rejects.toMatchObject({ code: "HUB_REDIRECT" });
    expect(scene.seen).toHaveLength(1);
  });

  it("refuses a body that can be read only once", async () => {
    const scene = await serverOf(ok);
    const body = new Blob(["x"]).stream();
    await expect(get(scene, "/x", { method: "PUT", body })).rejects.toMatchObject({
      code: "BODY_NOT_REPEATABLE",
    });
  });
});

describe("a commit", () => {
  const path = "/api/datasets/a/b/commit/main";
  it.each([
    ["503", answer(503)],
    ["504", answer(504)],
    ["a reset", reset],
    ["a reply cut in its middle", cutAt(3)],
  ])("is not asked again after %s: it may be done", async (_, first) => {
    const scene = await serverOf(first, ok);
    await expect(get(scene, path, { method: "POST", body: "{}" })).rejects.toMatchObject({
      code: "HUB_COMMIT_UNSURE",
    });
    expect(scene.seen).toHaveLength(1);
  });

  it("is asked again after 429: it was surely not done", async () => {
    const scene = await serverOf(answer(429, { "retry-after": "60" }), ok);
    expect(await get(scene, path, { method: "POST", body: "{}" })).toBe("fine");
  });
});

describe("the token", () => {
  it("does not follow a redirect to another origin, and stays on the Hub's own", async () => {
    const storage = await serverOf(ok);
    const hub = await serverOf(
      answer(307, { location: "/moved" }),
      answer(302, { location: `${storage.url}/file?sig=1` }),
    );
    expect(await get(hub)).toBe("fine");
    expect(hub.seen.map(({ authorization }) => authorization)).toEqual([
      `Bearer ${TOKEN}`,
      `Bearer ${TOKEN}`,
    ]);
    expect(storage.seen).toMatchObject([{ authorization: undefined }]);
  });

  it("does not go to another origin even when a caller sends it there", async () => {
    const [hub, other] = [await serverOf(ok), await serverOf(ok)];
    await get({ ...hub, url: other.url });
    expect(other.seen).toMatchObject([{ authorization: undefined }]);
  });

  it.each([400, 401, 403, 422])("is not in the error when a server echoes it with %d", async (status) => {
    const body = JSON.stringify({ error: `bad token ${TOKEN}` });
    const scene = await serverOf(
      answer(status, { "content-type": "application/json", "x-error-message": `no: ${TOKEN}` }, body),
    );
    const error: unknown = await get(scene, "/x?signature=abc").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "HUB_STATUS" });
    expect(JSON.stringify(error) + String(error)).not.toMatch(new RegExp(`${TOKEN}|signature`));
  });

  it("and the data do not go from https to plain http", async () => {
    const scene = await serverOf(ok);
    const world = { ...scene.world, hubUrl: "https://hub.invalid" };
    await expect(get({ ...scene, world })).rejects.toMatchObject({ code: "HUB_REDIRECT" });
    expect(scene.seen).toEqual([]);
  });
});

function cutAt(bytes: number): RequestListener {
  return (request, response) => {
    response.writeHead(200, { "content-length": "100" });
    response.write("x".repeat(bytes), () => setTimeout(() => request.socket.destroy(), 20));
  };
}
