import { systemClock, type Clock } from "../../../src/core/clock.ts";
import { jobKey, type JobRef, type Launcher, type Observation } from "../../../src/launch/index.ts";
import { attemptOf, until, type Step } from "../support.ts";
import { accepted, type AwsBench } from "./support.ts";

export type SageMakerRef = Extract<JobRef, { kind: "sagemaker" }>;

/** A launcher whose time is ours: each look is later than the poll time. */
export interface Watch {
  readonly launcher: Launcher;
  readonly clock: Clock;
  pass(milliseconds: number): void;
  submit(script?: readonly Step[]): Promise<SageMakerRef>;
  /** A job that gets no container: tests say what becomes of it. */
  idle(): Promise<SageMakerRef>;
  look(ref: JobRef): Promise<Observation>;
  ended(ref: JobRef): Promise<Extract<Observation, { phase: "ended" }>>;
}

export const watching = async (bench: AwsBench): Promise<Watch> => {
  let ahead = 0;
  const clock: Clock = {
    now: () => systemClock.now() + ahead,
    sleep: async (milliseconds, signal) => systemClock.sleep(milliseconds, signal),
  };
  const launcher = await bench.another({}, clock);
  const pass = (milliseconds: number): void => {
    ahead += milliseconds;
  };
  const submit = async (script: readonly Step[] = []): Promise<SageMakerRef> => {
    const job = bench.job(script);
    return accepted(launcher, launcher.plan(job, attemptOf(job)));
  };
  const look = async (ref: JobRef): Promise<Observation> => {
    pass(5000);
    const seen = (await launcher.observe([ref])).get(jobKey(ref));
    if (seen === undefined) throw new Error("not in the answer");
    return seen;
  };
  return {
    launcher,
    clock,
    pass,
    submit,
    look,
    idle: async () => {
      bench.service.runs = false;
      return submit();
    },
    ended: async (ref) =>
      until(async () => {
        const seen = await look(ref);
        return seen.phase === "ended" ? seen : undefined;
      }),
  };
};
