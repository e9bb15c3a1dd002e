import { dirname, join, resolve } from "node:path";

/** Where everything of one attempt lies, on the machine that runs it. `wrapper.sh` uses the same names. */
export interface AttemptLayout {
  /** attempts/N of the run. */
  readonly folder: string;
  readonly run: string;
  readonly manifest: string;
  readonly wrapper: string;
  /** What the wrapper itself has to say; the payload's words go to `log`. */
  readonly wrapperLog: string;
  readonly log: string;
  /** One for each attempt: the stop of an earlier attempt must not end this one. */
  readonly stop: string;
  readonly supervisor: string;
  /** Of the pids in `supervisor`: inode of their namespace. Written where containers may share a machine: jobs of this one. */
  readonly namespace: string;
  readonly result: string;
  /** Shared by all attempts of the run. */
  readonly output: string;
  readonly events: string;
  readonly fence: string;
}

export const attemptLayout = (runFolder: string, number: number): AttemptLayout =>
  layoutAt(join(runFolder, "attempts", String(number)));

/** The layout around an attempt's folder, e.g. the one in a `JobRef`. */
export const layoutAt = (folder: string): AttemptLayout => {
  const run = resolve(dirname(folder), "..");
  return {
    folder,
    run,
    manifest: join(folder, "job.json"),
    wrapper: join(folder, "wrapper.sh"),
    wrapperLog: join(folder, "wrapper.txt"),
    log: join(folder, "log.txt"),
    stop: join(folder, "STOP"),
    supervisor: join(folder, "supervisor.json"),
    namespace: join(folder, "pid-namespace"),
    result: join(folder, "result.json"),
    output: join(run, "output"),
    events: join(run, "events.jsonl"),
    fence: join(run, "fence"),
  };
};

/** The folder whose creation makes a marker somebody's own. */
export const claimFolder = (layout: AttemptLayout, marker: string): string =>
  join(layout.run, "claims", marker);
