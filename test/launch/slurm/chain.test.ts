import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { RefOf } from "../../../src/launch/schema.ts";
import { attemptEvidence } from "../../../src/launch/slurm/attempt-evidence.ts";
import { chainEvidence, nextOf } from "../../../src/launch/slurm/chain.ts";
import type { RunFiles } from "../../../src/launch/slurm/far-evidence.ts";
import { chainOf, type Chain } from "../link-support.ts";

/** Reads what a real link.sh has left, as a controller on the far side's disk would. */
const filesOf = ({ run }: Chain): RunFiles => {
  const names = readdirSync(run, { recursive: true, encoding: "utf8" });
  const wanted = names.filter((name) =>
    /^(STOP|links\/[^/]*\.json|attempts\/\d+\/(supervisor\.json|result\.json|STOP))$/.test(name),
  );
  return {
    files: new Map(wanted.map((name) => [name, readFileSync(join(run, name), "utf8")])),
    attempts: names.flatMap((name) => /^attempts\/(\d+)$/.exec(name)?.[1] ?? []).map(Number),
    claims: new Map(
      names.filter((name) => /^claims\/[^/]+$/.test(name)).map((name) => [name.slice("claims/".length), ""]),
    ),
    unread: null,
    isLocal: true,
    secrets: [],
  };
};

const ref = (chain: Chain, attempt: number, jobs = [1, 2, 3]): RefOf<"slurm"> => ({
  kind: "slurm",
  marker: `us-x-a${attempt}`,
  folder: join(chain.run, "attempts", String(attempt)),
  cluster: null,
  jobs: jobs.map((link) => ({ id: String(100 + link), link })),
  submittedAt: 0,
});

describe("what the files say about an attempt", () => {
  it("of a chain that carries a run on", async () => {
    const chain = chainOf("us-x");
    expect(chainEvidence({ files: new Map(), claims: new Map() }, ref(chain, 1))).toEqual({
      state: "not-begun",
      result: null,
      supervisor: null,
      by: null,
      newer: 0,
      stop: null,
      runStopped: false,
      links: [],
      givenUp: null,
    });
    chain.script(1, "checkpoint 4; exit 3");
    chain.script(2, "checkpoint 8; kill -9 $$");
    chain.script(3, "checkpoint 10");
    await chain.link(1);
    const first = chainEvidence(filesOf(chain), ref(chain, 1));
    expect(first).toMatchObject({ state: "ended", newer: 0, by: { job: "101", link: 1 }, givenUp: null });
    expect(first.result?.exitCode).toBe(3);
    expect(nextOf(first)).toBe("depends");
    expect(chainEvidence(filesOf(chain), ref(chain, 2)).state).toBe("not-begun");

    await chain.link(2);
    await chain.link(2, { restart: 1 });
    await chain.link(3);
    const files = filesOf(chain);
    expect(chainEvidence(files, ref(chain, 1)).newer).toBe(3);
    expect(chainEvidence(files, ref(chain, 2))).toMatchObject({
      state: "ended",
      newer: 3,
      by: { job: "102", link: 2 },
    });
    const third = chainEvidence(files, ref(chain, 3));
    expect(third).toMatchObject({ state: "ended", newer: 0, by: { job: "102", link: 2 } });
    expect(third.givenUp).toEqual({ decision: "succeeded", reason: "attempt 3 has finished" });
    expect(nextOf(third)).toBe("ends");
    expect(
      third.links.map(({ link, restart, decision, attempt }) => [link, restart, decision, attempt]),
    ).toEqual([
      [1, 0, "run", 1],
      [2, 1, "run", 3],
      [3, 0, "succeeded", null],
    ]);
  });

  it("that was killed without a trace is begun, and superseded by the next one", async () => {
    const chain = chainOf("us-x");
    chain.script(1, "checkpoint 2; kill -9 $PPID");
    await chain.link(1);
    const before = chainEvidence(filesOf(chain), ref(chain, 1));
    expect(before).toMatchObject({ state: "begun", result: null, newer: 0 });
    expect(before.supervisor?.token).toBe("T");
    await chain.link(2);
    expect(chainEvidence(filesOf(chain), ref(chain, 1)).newer).toBe(2);
  });

  it("knows a number that was claimed and came to nothing", () => {
    const chain = chainOf("us-x");
    const claims = new Map([
      ["us-x-a1", ""],
      ["us-x-a1.link-1", "101"],
      ["us-x-a10", ""],
      ["us-xy-a7", ""],
    ]);
    const evidence = chainEvidence({ files: new Map(), claims }, ref(chain, 1));
    expect(evidence).toMatchObject({ state: "begun", newer: 10 });
  });

  it("says why a chain was given up", async () => {
    const chain = chainOf("us-x");
    chain.script(1, "checkpoint 2; exit 1");
    await chain.link(1);
    await chain.link(2);
    const evidence = chainEvidence(filesOf(chain), ref(chain, 1));
    expect(evidence.givenUp).toMatchObject({ decision: "failed" });
    expect(nextOf(evidence)).toBe("ends");
    chain.write("STOP", "cancel\n");
    expect(chainEvidence(filesOf(chain), ref(chain, 1)).runStopped).toBe(true);
  });

  it("leaves out what is torn, foreign or of another submission", async () => {
    const chain = chainOf("us-x");
    chain.script(1, "exit 3");
    await chain.link(1);
    const { files, claims } = filesOf(chain);
    const broken = new Map([...files].map(([path, text]) => [path, text.slice(0, text.length / 2)]));
    expect(chainEvidence({ files: broken, claims }, ref(chain, 1))).toMatchObject({
      state: "begun",
      links: [],
      by: null,
    });
    const other = { ...ref(chain, 1), marker: "us-y-a1" };
    expect(chainEvidence({ files, claims: new Map() }, other).result).toBeNull();
    expect(chainEvidence({ files, claims }, ref(chain, 1, [7, 8])).links).toEqual([]);
  });
});

describe("the attempt that follows", () => {
  it("has the same jobs, the next folder and marker, and a token of its own", async () => {
    const chain = chainOf("us-x");
    chain.script(1, "checkpoint 4; exit 3");
    chain.script(2, "checkpoint 8; exit 3");
    await chain.link(1);
    await chain.link(2);
    await chain.link(3);
    const files = filesOf(chain);
    for (const number of [1, 2]) {
      const next = attemptEvidence(ref(chain, number), files).next;
      expect(next).toEqual({ refs: [ref(chain, number + 1)], token: `T.${number + 1}` });
      expect(chain.json(`attempts/${number + 1}/job.json`)).toMatchObject({
        attempt: { token: next?.token },
      });
    }
  });

  it("counts on from a submission that began with another number", async () => {
    const chain = chainOf("us-x");
    chain.script(4, "checkpoint 4; exit 3");
    await chain.link(1, { first: 4, token: "V.4" });
    expect(attemptEvidence(ref(chain, 4), filesOf(chain)).next?.token).toBe("V.4.5");
    await chain.link(2, { first: 4, token: "V.4" });
    expect(chain.json("attempts/5/job.json")).toMatchObject({ attempt: { token: "V.4.5" } });
  });
});
