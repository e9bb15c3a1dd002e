import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import {
  jobKey,
  markerOf,
  planText,
  type AttemptContext,
  type Job,
  type JobRef,
  type Launcher,
  type LogChunk,
  type Observation,
  type Plan,
} from "../../src/launch/index.ts";

/** One step of the stand-in payload, see test/launch/stand-in. */
export type Step = readonly [string, ...unknown[]];

/** What a launcher brings to be held to the contract. */
export interface Candidate {
  readonly launcher: Launcher;
  /** A job of a new run whose payload follows the script. `TEST_SECRET` is set to `secretValue` where it is launched. */
  job(script: readonly Step[], changes?: Partial<Job>): Job;
  readonly secretValue: string;
  /** Makes an empty file in the run's folder on the machine that runs the job: the script word `wait` waits for it. */
  touch(job: Job, name: string): Promise<void>;
  close(): Promise<void>;
}

/** One suite for every launcher: the same words mean the same thing wherever a job runs. */
export const launcherContract = (name: string, open: () => Promise<Candidate>): void => {
  describe(`${name} keeps the launcher contract`, () => {
    let candidate: Candidate;
    beforeAll(async () => {
      candidate = await open();
    });
    afterAll(async () => candidate.close());

    const attemptOf = (job: Job, number = 1): AttemptContext => ({
      number,
      marker: markerOf(job.runId, number),
      token: `token-${number}`,
    });
    const submit = async (job: Job, number = 1): Promise<JobRef> =>
      accepted(candidate.launcher, candidate.launcher.plan(job, attemptOf(job, number)));
    // What a scheduler cannot tell in this moment is asked again: it proves nothing.
    const observe = async (ref: JobRef, tries = 300): Promise<Observation> => {
      const seen = (await candidate.launcher.observe([ref])).get(jobKey(ref));
      if (!seen) throw new Error("a job that was asked for is not in the answer");
      if (seen.phase !== "unavailable" || tries === 0) return seen;
      return systemClock.sleep(100).then(async () => observe(ref, tries - 1));
    };
    const ended = async (ref: JobRef): Promise<Extract<Observation, { phase: "ended" }>> => {
      for (let tries = 0; tries < 1500; tries++, await systemClock.sleep(20)) {
        const seen = await observe(ref);
        if (seen.phase === "ended") return seen;
      }
      throw new Error("the job never ended");
    };
    const read = async (ref: JobRef, offset = 0): Promise<LogChunk[]> => {
      const chunks: LogChunk[] = [];
      const options = { follow: false, signal: new AbortController().signal };
      for await (const chunk of candidate.launcher.logs(ref, { offset }, options)) chunks.push(chunk);
      return chunks;
    };

    it("plans the same thing twice, and nothing secret is in it", () => {
      const job = candidate.job([], { secrets: ["TEST_SECRET"] });
      const plan = candidate.launcher.plan(job, attemptOf(job));
      expect(candidate.launcher.plan(job, attemptOf(job))).toEqual(plan);
      expect(planText(plan)).toContain("TEST_SECRET");
      expect(planText(plan) + JSON.stringify(plan)).not.toContain(candidate.secretValue);
    });

    it("sees nothing of a job that was never submitted", async () => {
      const job = candidate.job([]);
      const plan = candidate.launcher.plan(job, attemptOf(job));
      expect(await candidate.launcher.find(plan)).toEqual({ outcome: "none" });
    });

    it.each([0, 1, 2, 3, 75])("reports exit code %i as the payload gave it", async (code) => {
      const ref = await submit(candidate.job([["exit", code]]));
      const { result } = await ended(ref);
      expect(result).toMatchObject({ exitCode: code, signal: null, reason: "exited", marker: ref.marker });
    });

    it("reports a signal as a signal", async () => {
      const { result } = await ended(await submit(candidate.job([["die", 11]])));
      expect(result).toMatchObject({ exitCode: 139, signal: "SIGSEGV", reason: "signalled" });
    });

    it("sees a running job as live, and finds it by its marker", async () => {
      const job = candidate.job([["wait", "go"]]);
      const ref = await submit(job);
      expect(await observe(ref)).toMatchObject({ phase: "live" });
      const found = await candidate.launcher.find(candidate.launcher.plan(job, attemptOf(job)));
      expect(found).toEqual({ outcome: "found", refs: [ref] });
      await candidate.touch(job, "go");
      expect((await ended(ref)).result?.exitCode).toBe(0);
    });

    it("runs a marker once, however often it is submitted", async () => {
      const job = candidate.job([
        ["say", "once"],
        ["wait", "go"],
      ]);
      const plan = candidate.launcher.plan(job, attemptOf(job));
      const answers = await Promise.all([
        candidate.launcher.submit(plan),
        candidate.launcher.submit(plan),
        candidate.launcher.submit(plan),
      ]);
      const outcomes = answers.map(({ outcome }) => outcome).toSorted();
      expect(outcomes).toEqual(["accepted", "ambiguous", "ambiguous"]);
      await candidate.touch(job, "go");
      const found = await candidate.launcher.find(plan);
      const ref = found.outcome === "found" ? found.refs[0] : undefined;
      if (ref === undefined) throw new Error("the accepted job is not found");
      await ended(ref);
      expect((await read(ref)).flatMap(({ lines }) => lines)).toEqual(["once"]);
      expect((await candidate.launcher.submit(plan)).outcome).toBe("ambiguous");
    });

    it("gives the payload its secret and the planned environment, and nothing else of ours", async () => {
      const job = candidate.job([["environment"]], { secrets: ["TEST_SECRET"] });
      const ref = await submit(job);
      await ended(ref);
      const [line = "{}"] = (await read(ref)).flatMap(({ lines }) => lines);
      const seen: unknown = JSON.parse(line);
      expect(seen).toMatchObject({ TEST_SECRET: candidate.secretValue, HF_HUB_OFFLINE: "1" });
      expect(seen).not.toHaveProperty("TEST_STRAY");
    });

    it("stops gracefully: the payload saves and says so", async () => {
      const job = candidate.job([["say", "up"], ["wait-stop"], ["write", "saved.txt", "all"], ["exit", 3]]);
      const ref = await submit(job);
      expect(await candidate.launcher.cancel(ref, "graceful")).toBe("requested");
      await candidate.launcher.cancel(ref, "graceful");
      expect((await ended(ref)).result).toMatchObject({ exitCode: 3, reason: "exited" });
      const saved = await candidate.launcher.artifacts(ref).read("output/saved.txt");
      expect(Buffer.from(saved).toString()).toBe("all");
      expect(await candidate.launcher.cancel(ref, "graceful")).toBe("already-ended");
      expect(await candidate.launcher.cancel(ref, "now")).toBe("already-ended");
    });

    it("ends a job now that does not listen", async () => {
      const job = candidate.job([["ignore-term"], ["worker"], ["wait", "never"]]);
      const ref = await submit(job);
      for (let tries = 0; tries < 500 && (await read(ref)).length === 0; tries++) await systemClock.sleep(20);
      expect(await candidate.launcher.cancel(ref, "now")).toBe("requested");
      expect((await ended(ref)).result?.exitCode ?? 137).toBe(137);
    });

    it("reads each log line once over restarts, and no half lines", async () => {
      const job = candidate.job([
        ["say", "one"],
        ["say", "zwei ü"],
        ["torn", "thr"],
        ["wait", "go"],
        ["say", "ee"],
        ["torn", "last"],
      ]);
      const ref = await submit(job);
      const lines: string[] = [];
      let offset = 0;
      const readOn = async (): Promise<void> => {
        for (const chunk of await read(ref, offset)) {
          lines.push(...chunk.lines);
          ({ offset } = chunk.cursor);
        }
      };
      for (let tries = 0; tries < 500 && lines.length < 2; tries++) {
        await readOn();
        await systemClock.sleep(20);
      }
      expect(lines).toEqual(["one", "zwei ü"]);
      await candidate.touch(job, "go");
      await ended(ref);
      await readOn().then(readOn);
      expect(lines).toEqual(["one", "zwei ü", "three", "last"]);
    });

    it("follows a log until told to stop", async () => {
      const job = candidate.job([
        ["say", "first"],
        ["wait", "go"],
        ["say", "second"],
      ]);
      const ref = await submit(job);
      const stop = new AbortController();
      const lines: string[] = [];
      for await (const chunk of candidate.launcher.logs(
        ref,
        { offset: 0 },
        { follow: true, signal: stop.signal },
      )) {
        lines.push(...chunk.lines);
        if (lines.length === 1) await candidate.touch(job, "go");
        if (lines.length === 2) stop.abort();
      }
      expect(lines).toEqual(["first", "second"]);
    });

    it("lists and reads what a job wrote, and nothing outside its folder", async () => {
      const script = [
        ["write", "a/one.txt", "0123456789"],
        ["write", "two.txt", "x"],
      ] as const;
      const ref = await submit(candidate.job(script));
      await ended(ref);
      const store = candidate.launcher.artifacts(ref);
      expect(await store.list("output")).toEqual([
        { path: "output/a/one.txt", bytes: 10 },
        { path: "output/two.txt", bytes: 1 },
      ]);
      expect(await store.list("nothing-here")).toEqual([]);
      expect(Buffer.from(await store.read("output/a/one.txt", 2, 5)).toString()).toBe("234");
      expect(Buffer.from(await store.read("output/a/one.txt", 8, 99)).toString()).toBe("89");
      expect(await store.read("output/a/one.txt", 50, 60)).toHaveLength(0);
      await expect(store.read("output/none.txt")).rejects.toMatchObject({ code: "ARTIFACT_MISSING" });
      await expect(store.read("../../../etc/passwd")).rejects.toMatchObject({ code: "ARTIFACT_OUTSIDE" });
    });

    it("locks out an earlier attempt that comes late", async () => {
      const job = candidate.job([["wait", "go"]]);
      const second = await submit(job, 2);
      const late = await candidate.launcher.submit(candidate.launcher.plan(job, attemptOf(job, 1)));
      expect(late.outcome).toBe("rejected");
      expect((await observe(second)).phase).toBe("live");
      await candidate.touch(job, "go");
      expect((await ended(second)).result?.exitCode).toBe(0);
    });

    it("says that a machine without room is unfit, and starts nothing", async () => {
      const ref = await submit(candidate.job([["say", "ran"]], { diskBytes: 1e17 }));
      const { result } = await ended(ref);
      expect(result?.reason).toBe("node-check");
      expect(result?.detail).toContain("100000000000000000 bytes");
      expect(await read(ref)).toEqual([]);
    });
  });
};

async function accepted(launcher: Launcher, plan: Plan): Promise<JobRef> {
  const answer = await launcher.submit(plan);
  const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
  if (ref === undefined) throw new Error(`not accepted: ${JSON.stringify(answer)}`);
  return ref;
}
