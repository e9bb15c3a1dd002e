import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemClock } from "../../../src/core/clock.ts";
import { markerOf, type Job, type Plan } from "../../../src/launch/index.ts";
import type { OpenWorld } from "../../../src/launch/launchers.ts";
import { planSlurm } from "../../../src/launch/slurm/plan.ts";
import { linksOf, sbatchArgv } from "../../../src/launch/slurm/sbatch.ts";
import type { SlurmLab } from "../../real/slurm/lab.ts";
import { linkPath } from "../link-support.ts";
import { wrapperPath } from "../support.ts";
import { slurmProfile, WORLD } from "./plan-support.ts";

/** What a controller would do once, and then nobody any more: files, then one sbatch for each link. Job ids. */
export const submitByHand = (lab: SlurmLab, plan: Plan): readonly string[] => {
  for (const { path, mode, text } of plan.files) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { mode });
  }
  return Array.from({ length: linksOf(plan) }, (_, index) =>
    lab.run([...sbatchArgv(plan, index + 1)]).trim(),
  );
};

/** Waits until none of the jobs is queued or runs; only looks. */
export const allGone = async (lab: SlurmLab, ids: readonly string[]): Promise<void> => {
  await eventually(() => {
    const live = lab.run(["squeue", "-h", "-t", "PD,R,CF,CG,S,RH,RQ", "-o", "%i"]).split("\n");
    return ids.every((id) => !live.includes(id));
  });
};

/** Looks again and again for up to a quarter of an hour. */
export const eventually = async (look: () => boolean): Promise<void> => {
  for (let tries = 0; tries < 4500; tries++) {
    if (look()) return;
    await systemClock.sleep(200);
  }
  throw new Error("it never happened");
};

/** `ExitCode` of an ended job, e.g. `75:0`. */
export const exitOf = (lab: SlurmLab, id: string): string =>
  /ExitCode=(\S+)/.exec(lab.run(["scontrol", "show", "job", id]))?.[1] ?? "";

export const readJson = (path: string): Record<string, unknown> => JSON.parse(readFileSync(path, "utf8"));

/** The records of all links, by name. */
export const linkRecords = (run: string): Readonly<Record<string, Record<string, unknown>>> =>
  Object.fromEntries(
    (existsSync(join(run, "links")) ? readdirSync(join(run, "links")) : [])
      .filter((name) => name.endsWith(".json"))
      .map((name) => [name.slice(0, -".json".length), readJson(join(run, "links", name))]),
  );

/**
 * An interpreter that is none: as `python -m understudy_payload … --manifest FILE` it does what `script-n` of the run says in
 * attempt n. It does not run on the node that is named in the file `unfit-node` beside it.
 */
export const fakePython = (folder: string): string => {
  const path = join(folder, "python");
  const text = `#!/bin/sh
[ "$1" != -c ] || { read -r unfit 2>/dev/null <"\${0%/*}/unfit-node"; [ "\${unfit:-}" != "$SLURMD_NODENAME" ]; exit; }
folder=\${5%/job.json}
run=\${folder%/attempts/*}
n=\${folder##*/}
checkpoint() {
  mkdir -p "$run/output/checkpoint-$1" && echo "{\\"step\\":$1}" >"$run/output/checkpoint-$1/_COMPLETE.json"
}
await_stop() {
  until [ -e "$folder/STOP" ]; do sleep 0.1; done
}
echo "attempt $n"
. "$run/script-$n"
`;
  writeFileSync(path, text, { mode: 0o755 });
  return path;
};

const WORLD_OF_THE_REAL: OpenWorld = {
  ...WORLD,
  wrapper: readFileSync(wrapperPath, "utf8"),
  link: readFileSync(linkPath, "utf8"),
};

/** The plan of a training job of 10 steps on the CPU, below a folder. */
export const planBelow = (
  folder: string,
  runId: string,
  { settings = {}, changes = {} }: { readonly settings?: object; readonly changes?: Partial<Job> } = {},
): Plan => {
  const profile = slurmProfile({
    device: "cpu",
    time: "5",
    threads: 1,
    paths: { data: folder, models: folder, env: folder, runs: folder },
    ...settings,
  });
  const job: Job = {
    kind: "train",
    runId,
    runFolder: join(folder, runId),
    manifest: {
      schemaVersion: 1,
      kind: "train",
      run: runId,
      training: { steps: 10, saveEverySteps: 5, evalEverySteps: 5 },
    },
    python: join(folder, "python"),
    payload: folder,
    profile,
    diskBytes: 1000,
    secrets: [],
    inputs: [],
    environment: null,
    ...changes,
  };
  const attempt = { number: 1, marker: markerOf(runId, 1), token: "T" };
  return planSlurm(job, attempt, { profile, world: WORLD_OF_THE_REAL });
};

/** The text of a file; undefined when it is not there. */
export const tryRead = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
};
