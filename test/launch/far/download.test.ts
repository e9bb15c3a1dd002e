import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { sha256 } from "../../../src/core/hash.ts";
import { farProgram, secretFile } from "../../../src/launch/far/index.ts";
import { tokenFolder } from "../../../src/launch/far/staging.ts";
import { layoutAt, type JobInput } from "../../../src/launch/index.ts";
import { python, until } from "../support.ts";
import { startHub, type FakeHub, type Mood } from "./fake-hub.ts";
import { farJob, here, payload, sshProfile, temporaryFolder } from "./support.ts";

const WEIGHTS = "weight ".repeat(100_000);
const FILES = {
  "config.json": '{"model_type":"tiny"}',
  "model.safetensors": WEIGHTS,
  "sub/speakers.pt": "pt ".repeat(500),
};
const TOKEN = "hf_planted_secret_token";

interface Site {
  readonly hub: FakeHub;
  readonly model: string;
  readonly run: string;
  fetch(): Promise<{ readonly code: number | null; readonly out: string }>;
  start(): ReturnType<typeof spawn>;
  events(): readonly Record<string, unknown>[];
}

/** A node that is going to fetch a model, and a hub that behaves as it is told. `listed`: whether the job knows the files. */
async function site(moods: Readonly<Record<string, readonly Mood[]>> = {}, listed = true): Promise<Site> {
  const hub = await startHub(FILES, moods);
  onTestFinished(() => hub.close());
  const at = temporaryFolder().path;
  const model = join(at, "models", "lab--model@rev1");
  const run = join(at, "run");
  mkdirSync(run);
  const inputs = Object.entries(FILES).map(([name, text]): JobInput => ({
    role: "model",
    path: join(model, name),
    source: null,
    bytes: Buffer.byteLength(text),
    sha256: sha256(text),
  }));
  const profile = sshProfile({
    stage: { model: "node-download" },
    paths: { ...sshProfile().paths, models: join(at, "models") },
  });
  const job = farJob({
    runFolder: run,
    payload,
    python: python.path,
    inputs: listed ? inputs : [],
    manifest: { model: { path: model, revision: "lab/model@rev1" } },
  });
  const [name, ...args] = farProgram(job, profile, layoutAt(join(run, "attempts/1")), 1).argv;
  // What the job would be: it says whether it has the token.
  const step = args.slice(0, args.indexOf("--") + 1);
  const show = ["/bin/sh", "-c", 'echo "job runs, token: ${HF_TOKEN:-none}"'];
  const start = (): ReturnType<typeof spawn> =>
    spawn(name, [...step, ...show], {
      env: {
        PATH: process.env["PATH"],
        HF_ENDPOINT: hub.address,
        HF_HUB_OFFLINE: "1",
        UNDERSTUDY_HUB_PAUSE: "0.01",
        UNDERSTUDY_JOB: "us-run-1-a1.t",
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
  return {
    hub,
    model,
    run,
    start,
    fetch: async () => {
      const child = start();
      let out = "";
      for (const stream of [child.stdout, child.stderr])
        stream?.on("data", (chunk: Buffer) => (out += chunk.toString()));
      const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
      return { code, out };
    },
    events: () => {
      const path = join(run, "events.jsonl");
      return existsSync(path)
        ? readFileSync(path, "utf8")
            .trim()
            .split("\n")
            .map((line): Record<string, unknown> => JSON.parse(line))
        : [];
    },
  };
}

const inPlace = (model: string): void => {
  for (const [name, text] of Object.entries(FILES))
    expect(readFileSync(join(model, name), "utf8")).toBe(text);
  expect(readdirSync(model).filter((name) => name.endsWith(".part"))).toEqual([]);
};

describe("weights that the node fetches from the hub", () => {
  it("arrive whole with the token sent to the hub alone, once, and the job runs without it", async () => {
    const node = await site();
    const folder = tokenFolder({ runFolder: node.run });
    await secretFile(here(), folder, { HF_TOKEN: TOKEN });
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "HF_TOKEN")).mode & 0o777).toBe(0o600);
    const { code, out } = await node.fetch();
    expect([code, out.includes("job runs, token: none\n")]).toEqual([0, true]);
    inPlace(node.model);
    expect(existsSync(folder)).toBe(false);
    expect(out).not.toContain(TOKEN);
    const asked = node.hub.requests.filter(({ path }) => !path.startsWith("/store/"));
    expect(asked.map(({ token }) => token)).toEqual(asked.map(() => `Bearer ${TOKEN}`));
    const stored = node.hub.requests.filter(({ path }) => path.startsWith("/store/"));
    expect(stored.map(({ token }) => token)).toEqual([undefined, undefined]);
    node.hub.requests.length = 0;
    expect((await node.fetch()).code).toBe(0);
    expect(node.hub.requests).toEqual([]);
  });

  it("are named by the hub where the job does not know its files", async () => {
    const node = await site({}, false);
    expect((await node.fetch()).code).toBe(0);
    inPlace(node.model);
    node.hub.requests.length = 0;
    expect((await node.fetch()).code).toBe(0);
    expect(node.hub.requests).toEqual([]);
  });

  it("arrive from a hub that cuts, hangs up, is busy and sends everything again", async () => {
    const node = await site({
      "model.safetensors": ["cut", "cut", "busy", "hang-up", "whole"],
      "config.json": ["busy", "cut", "wrong"],
    });
    const { code, out } = await node.fetch();
    expect([code, out.includes("job runs")]).toEqual([0, true]);
    inPlace(node.model);
    const ranges = node.hub.requests
      .filter(({ path }) => path === "/store/model.safetensors")
      .map(({ range }) => range);
    expect(ranges[0]).toBeUndefined();
    expect(Number(ranges[1]?.slice(6, -1))).toBeGreaterThan(0);
  });

  it("go on where a killed download stopped", async () => {
    const node = await site();
    mkdirSync(node.model, { recursive: true });
    writeFileSync(join(node.model, "model.safetensors.part"), WEIGHTS.slice(0, 300_000));
    expect((await node.fetch()).code).toBe(0);
    inPlace(node.model);
    const [first] = node.hub.requests.filter(({ path }) => path === "/store/model.safetensors");
    expect(first?.range).toBe("bytes=300000-");
  });

  it("are thrown away when they are not what was pinned", async () => {
    const wrong = (): Mood[] => ["wrong", "wrong", "wrong"];
    const node = await site({ "config.json": wrong() });
    const { code, out } = await node.fetch();
    expect([code, out.includes("job runs")]).toEqual([2, false]);
    expect(existsSync(join(node.model, "config.json"))).toBe(false);
    expect(node.events()).toEqual([
      expect.objectContaining({ type: "failed", attempt: 1, code: "MODEL_MISMATCH" }),
    ]);
  });

  it("that need a token, or are not there, are told as that", async () => {
    const denied = await site({ "config.json": ["denied"] });
    expect((await denied.fetch()).code).toBe(2);
    expect(denied.events()).toEqual([
      expect.objectContaining({
        code: "MODEL_DENIED",
        message: "the hub does not give config.json of lab/model (401)",
        hint: "accept its licence there, and set HF_TOKEN where the run is started",
      }),
    ]);
    const gone = await site({ "config.json": ["gone"] });
    expect((await gone.fetch()).code).toBe(2);
    expect(gone.events()).toEqual([expect.objectContaining({ code: "MODEL_MISSING" })]);
  });

  it("may come another time when the hub stays away", async () => {
    const node = await site({ "config.json": Array.from({ length: 20 }, (): Mood => "hang-up") });
    const { code, out } = await node.fetch();
    expect(code).toBe(69);
    expect(out).toContain("config.json could not be fetched from the hub");
    expect(node.events()).toEqual([]);
  });

  it("are fetched once by two jobs that start together", async () => {
    const node = await site();
    const both = await Promise.all([node.fetch(), node.fetch()]);
    expect(both.map(({ code }) => code)).toEqual([0, 0]);
    inPlace(node.model);
    expect(node.hub.requests.filter(({ path }) => path === "/store/model.safetensors")).toHaveLength(1);
  });

  it("survive kill -9 at any moment", async () => {
    const node = await site({ "model.safetensors": ["cut", "cut", "cut"] });
    for (let tries = 0; tries < 3; tries += 1) {
      const child = node.start();
      const before = node.hub.requests.length;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      // It may have less left to ask for than that, and be done.
      const isFar = (): boolean => node.hub.requests.length > before + tries || child.exitCode !== null;
      await until(async () => (isFar() ? true : undefined));
      child.kill("SIGKILL");
      await ended;
    }
    expect((await node.fetch()).code).toBe(0);
    inPlace(node.model);
  });
});
