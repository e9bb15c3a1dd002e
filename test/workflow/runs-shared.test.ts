import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Libsql from "libsql";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { systemClock } from "../../src/core/clock.ts";
import { projectAt } from "../../src/core/project.ts";
import { LauncherProfile, markerOf } from "../../src/launch/index.ts";
import { openStore } from "../../src/track/index.ts";
import { compile } from "../launch/compile.ts";
import { makeProject } from "../support/temporary-project.ts";
import { repository } from "./support.ts";
import { removeFolder } from "../support/remove-folder.ts";

const COUNT = 1000;

interface Place {
  readonly root: string;
  readonly main: string;
  readonly path: string;
  readonly squeues: () => number;
}

/** A project with many queued runs on a cluster whose squeue counts how often it is called. */
const makePlace = async (): Promise<Place> => {
  const root = await makeProject();
  onTestFinished(() => removeFolder(root));
  const { state, launchers } = projectAt(root);
  symlinkSync(join(repository, "launchers/payload"), join(launchers, "payload"));
  const bin = join(root, "bin");
  mkdirSync(bin);
  const list = join(root, "queue.txt");
  const calls = join(root, "calls.txt");
  writeFileSync(calls, "");
  const scripts = {
    squeue: `echo x >>${calls}\nsleep 0.3\ncat ${list}`,
    sacct: "",
    sbatch: "echo slurm 22.05.8",
    scontrol: "echo 'AccountingStorageType = accounting_storage/none'",
  };
  for (const [name, text] of Object.entries(scripts))
    writeFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  record(root, state);
  const now = Math.floor(Date.now() / 1000);
  const line = (at: number): string =>
    `${at + 1}|PENDING||${process.getuid?.() ?? 0}|${now}|N/A|N/A|Priority|${nameAndComment(markerOf(`many-${at}`, 1))}`;
  writeFileSync(list, `${Array.from({ length: COUNT }, (_, at) => line(at)).join("\n")}\n`);
  const output = compile(root, ["main.ts"]);
  writeFileSync(join(root, "package.json"), readFileSync(join(repository, "package.json")));
  return {
    root,
    main: join(output, "main.js"),
    path: `${bin}:${process.env["PATH"]}`,
    squeues: () => readFileSync(calls, "utf8").split("\n").length - 1,
  };
};

const nameAndComment = (marker: string): string =>
  `${marker}|${JSON.stringify({ marker, link: 1, links: 1 })}`;

// Straight into the tables, for speed: what a thousand `run start` have left.
function record(root: string, state: string): void {
  const file = join(state, "state.sqlite");
  openStore(file, systemClock).close();
  const place = (name: string): string => join(root, "far", name);
  const profile = LauncherProfile.parse({
    schemaVersion: 1,
    kind: "slurm",
    time: "1:00:00",
    pollSeconds: 600,
    paths: { data: place("data"), models: place("models"), env: place("env"), runs: place("runs") },
  });
  const database = new Libsql(file);
  const at = new Date().toISOString();
  mkdirSync(place("runs"), { recursive: true });
  database.exec("BEGIN");
  for (let number = 0; number < COUNT; number++) {
    const id = `many-${number}`;
    const runFolder = join(place("runs"), id);
    const job = {
      kind: "train",
      runId: id,
      runFolder,
      manifest: { schemaVersion: 1, kind: "train", run: id },
      python: "python3",
      payload: join(projectAt(root).launchers, "payload"),
      profile,
      diskBytes: 1,
      secrets: [],
      inputs: [],
      environment: null,
    };
    const proof = { kind: "train", steps: 4 };
    const rest = { resolved: null, git: null, forced: [], origins: {} };
    const lock = { schemaVersion: 1, job, proof, profileName: "lab", ...rest };
    database
      .prepare(
        `INSERT INTO runs (id, kind, name, state, reason, lock, created_at, updated_at)
         VALUES (?, 'train', 'many', 'queued', 'queued: Priority', ?, ?, ?)`,
      )
      .run(id, JSON.stringify(lock), at, at);
    const ref = {
      kind: "slurm",
      marker: markerOf(id, 1),
      folder: join(runFolder, "attempts/1"),
      cluster: null,
      jobs: [{ id: String(number + 1), link: 1 }],
      submittedAt: Date.now() - 1000,
    };
    database
      .prepare(
        `INSERT INTO attempts (run_id, number, marker, token, refs, started_at, evidence)
         VALUES (?, 1, ?, 'token', ?, ?, 'null')`,
      )
      .run(id, ref.marker, JSON.stringify([ref]), at);
  }
  database.exec("COMMIT");
  database.close();
}

const run = async ({ root, main, path }: Place, ...words: string[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...words], {
      cwd: root,
      env: { PATH: path, HOME: root },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    let problems = "";
    child.stdout.on("data", (piece: Buffer) => void (text += piece.toString()));
    child.stderr.on("data", (piece: Buffer) => void (problems += piece.toString()));
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve(text) : reject(new Error(`${code}: ${problems}`))));
  });

const Rows = z.array(
  z.object({ id: z.string(), unavailable: z.null(), staleSince: z.null(), state: z.string() }),
);

it(
  "terminals that list a thousand runs again and again ask the cluster once",
  { timeout: 300_000 },
  async () => {
    const here = await makePlace();
    const terminal = async (...words: string[]): Promise<void> => {
      for (let times = 0; times < 4; times++) await run(here, ...words);
    };
    await Promise.all([
      terminal("run", "list"),
      terminal("run", "list", "--json"),
      terminal("run", "show", "many-7"),
    ]);
    // The interval of the profile is that of its default: 30 s. A slow machine may have needed longer.
    expect(here.squeues()).toBe(1);
    const rows = Rows.parse(JSON.parse(await run(here, "run", "list", "--json", "--offline")));
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(["queued"]));
    expect(rows).toHaveLength(COUNT);
    const before = here.squeues();
    await run(here, "run", "list", "--fresh");
    expect(here.squeues()).toBe(before + 1);
  },
);
