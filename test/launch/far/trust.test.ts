import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../../src/core/hash.ts";
import { farProgram, lookAtInputs } from "../../../src/launch/far/index.ts";
import { layoutAt, type JobInput } from "../../../src/launch/index.ts";
import { until } from "../support.ts";
import { farJob, here, payload, program, sshProfile, temporaryFolder, world } from "./support.ts";

interface Shelf {
  readonly folder: string;
  readonly data: string;
  readonly records: string;
  readonly inputs: readonly JobInput[];
  /** Runs the step that a job begins with; the program after it says `ran`. */
  hash(environment?: Readonly<Record<string, string>>): { code: number | null; out: string; err: string };
  words(): Promise<Readonly<Record<string, readonly string[]>>>;
  events(): readonly Record<string, unknown>[];
}

/** Two shards that a machine had before, with their digests as a lock has them. */
function shelf(): Shelf {
  const folder = temporaryFolder().path;
  const data = join(folder, "site data");
  mkdirSync(data);
  mkdirSync(join(folder, "run"));
  const inputs = ["one.parquet", "two.parquet"].map((name, index): JobInput => {
    const path = join(data, name);
    const text = `shard ${index} `.repeat(1000);
    writeFileSync(path, text);
    return { role: "data", path, source: null, bytes: Buffer.byteLength(text), sha256: sha256(text) };
  });
  const records = join(folder, "env", "trust");
  const profile = sshProfile({ paths: { ...sshProfile().paths, env: join(folder, "env") } });
  const job = farJob({ inputs, payload, python: "/bin/echo" });
  const [name, ...args] = farProgram(job, profile, layoutAt(join(folder, "run/attempts/3")), 1).argv;
  return {
    folder,
    data,
    records,
    inputs,
    hash: (environment = {}) => {
      const env = { PATH: process.env["PATH"], UNDERSTUDY_JOB: "us-run-1-a3.token", ...environment };
      const { status, stdout, stderr } = spawnSync(name, args, { env, encoding: "utf8" });
      return { code: status, out: stdout, err: stderr };
    },
    words: async () => {
      const found = await lookAtInputs(here(), inputs, { records, world });
      const names = (some: readonly JobInput[]): string[] =>
        some.map(({ path }) => path.slice(data.length + 1));
      const { trusted, unproven, missing, wrongSize } = found;
      return {
        trusted: names(trusted),
        unproven: names(unproven),
        missing: names(missing),
        wrongSize: wrongSize.map(({ bytes }) => String(bytes)),
      };
    },
    events: () => {
      const path = join(folder, "run", "events.jsonl");
      if (!existsSync(path)) return [];
      const lines = readFileSync(path, "utf8").trim().split("\n");
      return lines.map((line): Record<string, unknown> => JSON.parse(line));
    },
  };
}

const NONE = { trusted: [], unproven: [], missing: [], wrongSize: [] };

describe("data that a machine had before", () => {
  it("is hashed once by the job, then known by size and time of change", async () => {
    const site = shelf();
    expect(await site.words()).toEqual({ ...NONE, unproven: ["one.parquet", "two.parquet"] });
    const first = site.hash();
    expect(first.code).toBe(0);
    expect(first.out).toContain(`hashing ${site.data}/one.parquet (8000 bytes)`);
    expect(first.out).toContain(
      "data: 0 files known by size and time of change, 2 hashed\n-m understudy_payload train",
    );
    expect(await site.words()).toEqual({ ...NONE, trusted: ["one.parquet", "two.parquet"] });
    const record: unknown = JSON.parse(readFileSync(join(site.data, ".understudy-trust.json"), "utf8"));
    expect(record).toMatchObject({
      schemaVersion: 1,
      files: {
        "one.parquet": { bytes: 8000, sha256: site.inputs[0]?.sha256 },
        "two.parquet": { bytes: 8000 },
      },
    });
    const second = site.hash();
    expect(second.out).toContain("data: 2 files known by size and time of change, 0 hashed\n");
    expect(second.out).not.toContain("hashing");
  });

  it("is hashed again when its time of change is another, and only then", async () => {
    const site = shelf();
    site.hash();
    const path = join(site.data, "two.parquet");
    utimesSync(path, new Date(), new Date(Date.now() - 5000));
    expect(await site.words()).toEqual({ ...NONE, trusted: ["one.parquet"], unproven: ["two.parquet"] });
    expect(site.hash().out).toContain("data: 1 files known by size and time of change, 1 hashed");
    expect(await site.words()).toEqual({ ...NONE, trusted: ["one.parquet", "two.parquet"] });
  });

  it("that is another file of the same size stops the job, with both digests in log and events", () => {
    const site = shelf();
    site.hash();
    const path = join(site.data, "one.parquet");
    const other = "x".repeat(8000);
    writeFileSync(path, other);
    const { code, out, err } = site.hash();
    expect([code, out.includes("understudy_payload")]).toEqual([2, false]);
    const sentence = `${path} has the SHA-256 ${sha256(other)}; ${site.inputs[0]?.sha256} is expected`;
    expect(err).toBe(`DATA_MISMATCH: ${sentence}\n`);
    expect(site.events()).toEqual([
      expect.objectContaining({ v: 1, attempt: 3, type: "failed", code: "DATA_MISMATCH", message: sentence }),
    ]);
  });

  it("that was purged is told apart from a torn set and a file that was cut short", async () => {
    const site = shelf();
    const [one, two] = [join(site.data, "one.parquet"), join(site.data, "two.parquet")];
    writeFileSync(two, "short");
    expect(await site.words()).toEqual({ ...NONE, unproven: ["one.parquet"], wrongSize: ["5"] });
    expect(site.hash().err).toBe(`DATA_CHANGED: ${two} has 5 bytes; 8000 are expected\n`);
    rmSync(two);
    expect(await site.words()).toEqual({ ...NONE, unproven: ["one.parquet"], missing: ["two.parquet"] });
    expect(site.hash().err).toBe(`DATA_TORN: 1 of 2 files are not there, e.g. ${two}\n`);
    rmSync(one);
    expect(site.hash().err).toContain("DATA_PURGED: none of the 2 files is there, e.g.");
    expect(site.events().map(({ code }) => code)).toEqual(["DATA_CHANGED", "DATA_TORN", "DATA_PURGED"]);
  });

  it("keeps its record apart where the folder cannot hold one", async () => {
    const site = shelf();
    // A folder in the record's place refuses everybody, root too.
    mkdirSync(join(site.data, ".understudy-trust.json", "taken"), { recursive: true });
    expect(site.hash().code).toBe(0);
    expect(await site.words()).toEqual({ ...NONE, trusted: ["one.parquet", "two.parquet"] });
  });

  it("is not believed on the word of a record of other digests or of torn text", async () => {
    const site = shelf();
    site.hash();
    const record = join(site.data, ".understudy-trust.json");
    const text = readFileSync(record, "utf8");
    writeFileSync(record, text.replaceAll(/"sha256":"..../g, '"sha256":"0000'));
    expect(await site.words()).toEqual({ ...NONE, unproven: ["one.parquet", "two.parquet"] });
    writeFileSync(record, text.slice(0, 60));
    expect(await site.words()).toEqual({ ...NONE, unproven: ["one.parquet", "two.parquet"] });
    expect(site.hash().code).toBe(0);
    expect(await site.words()).toEqual({ ...NONE, trusted: ["one.parquet", "two.parquet"] });
  });

  it("keeps what was hashed before the job was killed", async () => {
    const site = shelf();
    const slow = join(site.folder, "bin");
    mkdirSync(slow);
    // The second file takes for ever.
    program(
      join(slow, "sha256sum"),
      `#!/bin/sh\nif grep -q 'shard 1'; then exec sleep 600; fi\nexec /usr/bin/sha256sum <"$FIRST"\n`,
    );
    const profile = sshProfile({ paths: { ...sshProfile().paths, env: join(site.folder, "env") } });
    const job = farJob({ inputs: site.inputs, payload, python: "/bin/echo" });
    const [name, ...args] = farProgram(job, profile, layoutAt(join(site.folder, "run/attempts/3")), 1).argv;
    const env = { PATH: `${slow}:${process.env["PATH"]}`, FIRST: join(site.data, "one.parquet") };
    const child = spawn(name, args, { env, stdio: ["ignore", "pipe", "ignore"], detached: true });
    const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal)));
    let said = "";
    child.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await until(async () => (said.includes("two.parquet") ? true : undefined));
    if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    expect(await ended).toBe("SIGKILL");
    expect(await site.words()).toEqual({ ...NONE, trusted: ["one.parquet"], unproven: ["two.parquet"] });
    expect(statSync(join(site.data, ".understudy-trust.json")).isFile()).toBe(true);
  });

  it("is not hashed any more when the job was asked to stop", () => {
    const site = shelf();
    mkdirSync(join(site.folder, "run/attempts/3"), { recursive: true });
    writeFileSync(join(site.folder, "run/attempts/3/STOP"), "");
    const { code, out } = site.hash();
    expect([code, out]).toEqual([3, "asked to stop before the data was known\n"]);
  });

  it("needs no digest where the size is all that is known of it", async () => {
    const site = shelf();
    const inputs = site.inputs.map((input) => ({ ...input, sha256: "" }));
    const found = await lookAtInputs(here(), inputs, { records: site.records, world });
    expect(found.trusted).toHaveLength(2);
  });
});
