import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { jobKey, markerOf, type Job, type JobRef } from "../../../src/launch/index.ts";
import { eventsFrom, type Look } from "../../../src/launch/ssh/look.ts";
import { realSuite } from "../../support/real-suite.ts";
import { sweep, until, type Step } from "../support.ts";
import { sshdBench, type SshdBench } from "./sshd-bench.ts";

realSuite(
  "events of a run that changes its host",
  { programs: ["sshd", "setsid", "unshare"], root: true },
  () => {
    let bench: SshdBench;
    const markers: string[] = [];
    beforeAll(async () => {
      bench = await sshdBench({ machines: { one: undefined, two: undefined }, unshared: true });
    }, 60_000);
    afterEach(async () => {
      for (const marker of markers.splice(0)) await sweep(marker);
    });
    afterAll(async () => bench.remove());

    const attempt = async (
      job: Job,
      request: { readonly number: number; readonly notOn?: string; readonly script: readonly Step[] },
    ): Promise<JobRef> => {
      const { number, notOn } = request;
      const marker = markerOf(job.runId, number);
      markers.push(marker);
      const excluded = notOn === undefined ? {} : { excludedNodes: [notOn] };
      const plan = bench.launcher.plan(
        { ...job, manifest: { ...job.manifest, script: request.script } },
        { number, marker, token: `token-${number}`, ...excluded },
      );
      const answer = await bench.launcher.submit(plan);
      const ref = answer.outcome === "accepted" ? answer.refs[0] : undefined;
      if (ref === undefined) throw new Error(JSON.stringify(answer));
      await until(async () =>
        (await bench.launcher.observe([ref])).get(jobKey(ref))?.phase === "ended" ? true : undefined,
      );
      return ref;
    };

    it(
      "are each read once by whoever reads on from where it was: A, B, A, B",
      { timeout: 120_000 },
      async () => {
        const job = bench.job([]);
        let offset = 0;
        let text = "";
        const read = async (ref: JobRef): Promise<void> => {
          const bytes = await bench.launcher.artifacts(ref).read("events.jsonl", offset);
          const whole = Buffer.from(bytes).subarray(0, Buffer.from(bytes).lastIndexOf(0x0a) + 1);
          offset += whole.length;
          text += whole.toString();
        };
        const event = (name: string): Step => ["event", { name }];
        const hosts: string[] = [];
        const scripts: readonly (readonly [string | undefined, readonly Step[]])[] = [
          [undefined, [event("first on one"), event("second on one")]],
          ["one", [event("on two")]],
          ["two", [event("back on one")]],
          ["one", [event("back on two, a little longer")]],
          ["two", [event("last")]],
        ];
        for (const [index, [notOn, script]] of scripts.entries()) {
          const ref = await attempt(job, {
            number: index + 1,
            script,
            ...(notOn === undefined ? {} : { notOn }),
          });
          hosts.push(ref.kind === "ssh" ? ref.host : "");
          await read(ref);
          // What a killed writer has torn, and what an attempt that was given up still writes, is nobody's event.
          if (index === 0)
            appendFileSync(join(bench.folder, "runs-of-one", job.runId, "events.jsonl"), '{"torn');
        }
        expect(new Set(hosts).size).toBe(2);
        expect(hosts[0]).toBe(hosts[2]);
        expect(hosts[1]).toBe(hosts[3]);
        const names = scripts.flatMap(([, script]) => script.map(([, one]) => one));
        expect(
          text
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line) as unknown),
        ).toEqual(names);
      },
    );
  },
);

it("are those of the host with the newest attempt, then of the longer text", () => {
  const look = (name: string, newest: number, begun: number): Look => ({
    kind: "look",
    host: { name, transport: async () => Promise.reject(new Error("nobody connects here")) },
    node: name,
    claim: null,
    ticket: null,
    lease: false,
    newest,
    begun,
    work: false,
  });
  const from = (to: Look, ...others: readonly Look[]): string | undefined =>
    eventsFrom(to, [to, ...others])?.host.name;
  // Attempt 1 goes on writing on A after B took over: B's are the run's all the same.
  expect(from(look("a", 1, 900), look("b", 2, 800))).toBe("b");
  expect(from(look("a", 3, 800), look("b", 3, 900))).toBe("b");
  expect(from(look("a", 3, 900), look("b", 3, 900))).toBeUndefined();
  expect(from(look("a", 2, 900), look("b", 1, 500))).toBeUndefined();
  expect(from(look("c", 0, 0), look("a", 1, 900), look("b", 2, 1000))).toBe("b");
  expect(from(look("c", 0, 0), look("a", 0, 0))).toBeUndefined();
});
