import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { systemClock } from "../../src/core/clock.ts";
import type { Project } from "../../src/core/project.ts";
import { markedProcesses } from "../../src/launch/supervisor.ts";
import { openStore, type Run, type Store } from "../../src/track/index.ts";
import { makeProject, type Program } from "./program.ts";
import { removeFolder } from "../support/remove-folder.ts";

/** A project of its own with the real payload, and what can be seen and done from outside. */
export class Pipeline {
  readonly project: Project;
  readonly store: Store;
  readonly #main: string;
  readonly #programs: ChildProcess[] = [];

  constructor(main: string, environments: string) {
    this.#main = main;
    this.project = makeProject(environments);
    this.store = openStore(join(this.project.state, "state.sqlite"), systemClock);
  }

  /** `understudy quickstart` in a process of its own. */
  start(name = "e2e"): Program {
    const { UNDERSTUDY_STATE: _elsewhere, ...environment } = process.env;
    const child = spawn(process.execPath, [this.#main, "quickstart", "--recipe", `recipes/${name}.yaml`], {
      cwd: this.project.root,
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#programs.push(child);
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
      });
    }
    const ended = new Promise<number | string | null>((done) => {
      child.once("close", (code, signal) => done(code ?? signal));
    });
    return { child, text: () => text, ended };
  }

  /** Runs of a kind, oldest first. */
  runs(kind: Run["kind"]): readonly Run[] {
    return this.store.listRuns({ kind }).toReversed();
  }

  /** The one training run; undefined before there is one. */
  get training(): Run | undefined {
    return this.runs("train")[0];
  }

  /** Attempts of the training run so far. */
  attempts(): number {
    return this.training === undefined ? 0 : this.store.attempts(this.training.id).length;
  }

  packed(): boolean {
    return existsSync(this.path("datasets", "greenroom.packed.json"));
  }

  /** Finished models. */
  models(): readonly string[] {
    const folder = this.path("models");
    return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".revision")) : [];
  }

  /** The tasks of an evaluation job, as its manifest has them. */
  tasks(run: string): readonly Task[] {
    const text = readFileSync(this.path("runs", run, "attempts", "1", "job.json"), "utf8");
    return JobFile.parse(JSON.parse(text)).tasks;
  }

  taskSystems(run: string): readonly string[] {
    return this.tasks(run).map(({ system }) => system.id);
  }

  /** Where the rows of a system on a suite lie. */
  taskFolder(kind: Run["kind"], system: string, suite: string): string {
    const tasks = this.runs(kind).flatMap(({ id }) => this.tasks(id));
    const found = tasks.find((task) => task.system.id === system && task.suite.id === suite);
    if (found) return found.output;
    throw new Error(`no ${kind} task for ${system} on ${suite}`);
  }

  path(...parts: readonly string[]): string {
    return join(this.project.state, ...parts);
  }

  /** Lines of events.jsonl of the training run. */
  events(): readonly TrainingEvent[] {
    const run = this.training;
    const path = run === undefined ? "" : this.path("runs", run.id, "events.jsonl");
    if (!existsSync(path)) return [];
    const lines = readFileSync(path, "utf8").split("\n").slice(0, -1);
    // A killed writer may leave half a line, which stays half.
    return lines.flatMap((line) => eventOf(line));
  }

  steps(): number {
    return Math.max(0, ...this.events().map(({ type, step }) => (type === "step" ? step : 0)));
  }

  /** `checkpoint-N` folders of the training run, with and without their completion marker. */
  checkpoints(): readonly { readonly step: number; readonly folder: string; readonly complete: boolean }[] {
    const run = this.training;
    const output = run === undefined ? "" : this.path("runs", run.id, "output");
    if (!existsSync(output)) return [];
    return readdirSync(output)
      .filter((name) => /^checkpoint-\d+$/.test(name))
      .map((name) => ({
        step: Number(name.split("-")[1]),
        folder: join(output, name),
        complete: existsSync(join(output, name, "_COMPLETE.json")),
      }))
      .toSorted((a, b) => a.step - b.step);
  }

  /** Finished task folders of a kind of evaluation job. */
  doneTasks(kind = ""): readonly string[] {
    const folder = this.path("evaluations");
    if (!existsSync(folder)) return [];
    return readdirSync(folder)
      .filter((name) => name.startsWith(kind) && existsSync(join(folder, name, "_DONE.json")))
      .map((name) => join(folder, name))
      .toSorted();
  }

  /** Every file of finished work with what would change if anybody wrote it again. */
  finishedFiles(): ReadonlyMap<string, string> {
    const complete = this.checkpoints().filter((one) => one.complete);
    const folders = [...complete.map(({ folder }) => folder), ...this.doneTasks()];
    return new Map(
      folders.flatMap(filesBelow).map((path) => {
        const { ino, mtimeMs, size } = statSync(path);
        return [path, `inode ${ino}, written ${mtimeMs}, ${size} bytes`];
      }),
    );
  }

  /** Processes of the training job that run now. */
  async trainers(): Promise<readonly number[]> {
    const open = this.training ? this.store.attempts(this.training.id).at(-1) : undefined;
    return open === undefined ? [] : (await markedProcesses(open)).map(({ pid }) => pid);
  }

  async signalTrainer(signal: NodeJS.Signals): Promise<void> {
    for (const pid of await this.trainers()) process.kill(pid, signal);
  }

  /** As when the power goes: wrapper, payload and all, of every job. */
  async killJobs(): Promise<void> {
    for (const run of this.store.listRuns()) {
      for (const attempt of this.store.attempts(run.id)) {
        const supervisor = this.path("runs", run.id, "attempts", String(attempt.number), "supervisor.json");
        const pids = (await markedProcesses(attempt)).map(({ pid }) => pid);
        if (existsSync(supervisor) && pids.length > 0) {
          const found = /"pgid":(\d+)/.exec(readFileSync(supervisor, "utf8"));
          if (found) quietly(() => process.kill(-Number(found[1]), "SIGKILL"));
        }
        for (const pid of pids) quietly(() => process.kill(pid, "SIGKILL"));
      }
    }
  }

  report(run: Run): string {
    return readFileSync(this.path("reports", run.id, "report.csv"), "utf8");
  }

  async remove(): Promise<void> {
    for (const child of this.#programs) child.kill("SIGKILL");
    await this.killJobs();
    this.store.close();
    removeFolder(this.project.root);
  }
}

const Task = z.object({
  system: z.object({ id: z.string() }),
  suite: z.object({ id: z.string() }),
  output: z.string(),
});
type Task = z.infer<typeof Task>;
const JobFile = z.object({ tasks: z.array(Task) });

export interface TrainingEvent {
  readonly type: string;
  readonly attempt: number;
  readonly step: number;
}

function eventOf(line: string): TrainingEvent[] {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== "object" || value === null) return [];
    const fields = new Map<string, unknown>(Object.entries(value));
    return [
      {
        type: String(fields.get("type")),
        attempt: Number(fields.get("attempt")),
        step: Number(fields.get("step")),
      },
    ];
  } catch {
    return [];
  }
}

function quietly(work: () => unknown): void {
  try {
    work();
  } catch {
    // It ended by itself in this very moment.
  }
}

/** All files below a folder. */
export const filesBelow = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
