import { constants } from "node:os";
import { describe, expect, it } from "vitest";
import { WrapperResult } from "../../src/launch/index.ts";
import { nextOf } from "../../src/launch/slurm/chain.ts";
import { classify } from "../../src/track/index.ts";
import { BUDGETS } from "../../src/workflow/budgets.ts";
import { chainOf, type Chain } from "./link-support.ts";

interface Past {
  /** Undefined: it left no result. */
  readonly code?: number;
  /** First line of its STOP. */
  readonly stop?: string;
  /** The job that began it. */
  readonly job?: number;
  /** Progress with which it began; default: none. */
  readonly before?: number;
}

// The wrapper calls by its name what ended the program.
const resultOf = (attempt: number, code: number): WrapperResult => {
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
  return WrapperResult.parse({
    schemaVersion: 1,
    marker: `us-x-a${attempt}`,
    exitCode: code,
    signal: signal ?? null,
    startedAt: "2026-11-30T00:00:00Z",
    endedAt: "2026-11-30T00:01:00Z",
    host: "n1",
    reason: signal === undefined ? "exited" : "signalled",
    detail: "",
  });
};

/** Attempts that have been, as link.sh and wrapper.sh leave them. */
const leave = (chain: Chain, attempts: readonly Past[]): void => {
  for (const [index, { code, stop, job = index + 1, before = 0 }] of attempts.entries()) {
    const number = index + 1;
    chain.write(`claims/us-x-a${number}/owner`, `${job}\n`);
    chain.write(`links/1-${number}.json`, `{"job":"${job}","attempt":${number},"progress":${before}}\n`);
    if (stop !== undefined) chain.write(`attempts/${number}/STOP`, `${stop}\n`);
    if (code === undefined) continue;
    chain.write(`attempts/${number}/result.json`, `${JSON.stringify(resultOf(number, code))}\n`);
  }
};

const LINK = 200;
const ME = 300;

/** What a link decides after them; `run` when it begins another attempt. */
const decisionAfter = async (attempts: readonly Past[], restart?: number): Promise<string> => {
  const chain = chainOf("us-x");
  leave(chain, attempts);
  await chain.link(LINK, { job: ME, ...(restart === undefined ? {} : { restart }) });
  return String(chain.json(`links/1-${LINK}.json`)["decision"]);
};

const times = (count: number, past: (index: number) => Past): Past[] =>
  Array.from({ length: count }, (_, index) => past(index));

describe("link.sh and the control plane decide the same", () => {
  it("after every exit code and after none", async () => {
    const differing: string[] = [];
    for (const code of [undefined, ...Array.from({ length: 256 }, (_, index) => index)]) {
      const goesOn = (await decisionAfter([code === undefined ? {} : { code }])) === "run";
      const result = code === undefined ? null : resultOf(1, code);
      const ending = classify(
        { phase: "ended", cause: "failed", detail: "", result },
        { stopRequested: false, proof: false, lastEvent: null },
      );
      const evidence = { result, runStopped: false };
      const said = { link: goesOn, table: ending?.retry !== "none", chain: nextOf(evidence) === "depends" };
      if (new Set(Object.values(said)).size > 1) differing.push(`${code}: ${JSON.stringify(said)}`);
    }
    expect(differing).toEqual([]);
  }, 300_000);

  it("on how many attempts are lost to machines", async () => {
    const { infra } = BUDGETS;
    for (const past of [{ code: 69 }, { code: 137 }, {}]) {
      expect(await decisionAfter(times(infra, () => past)), JSON.stringify(past)).toBe("run");
      expect(await decisionAfter(times(infra + 1, () => past)), JSON.stringify(past)).toBe("failed");
    }
  });

  it("on how many make room for others", async () => {
    const { preemption } = BUDGETS;
    const saved = { code: 3, stop: "signal TERM" };
    expect(await decisionAfter(times(preemption, () => saved))).toBe("run");
    expect(await decisionAfter(times(preemption + 1, () => saved))).toBe("failed");
    // Slurm starts the same job again: killed without a word, its attempts are told by their owner.
    const again = { job: ME };
    expect(
      await decisionAfter(
        times(preemption, () => again),
        preemption,
      ),
    ).toBe("run");
    expect(
      await decisionAfter(
        times(preemption + 1, () => again),
        preemption + 1,
      ),
    ).toBe("failed");
  }, 60_000);

  it("on how many reach the time limit, each with something newer", async () => {
    const { timeout } = BUDGETS;
    const decision = async (count: number): Promise<string> => {
      const chain = chainOf("us-x");
      leave(
        chain,
        times(count, (before) => ({ code: 3, stop: "signal USR1", before })),
      );
      chain.checkpoint(count);
      await chain.link(LINK, { job: ME });
      return String(chain.json(`links/1-${LINK}.json`)["decision"]);
    };
    expect(await decision(timeout)).toBe("run");
    expect(await decision(timeout + 1)).toBe("failed");
  }, 60_000);
});

describe("three ends in a row without anything newer", () => {
  const unasked = { code: 3 };

  it("stop a chain only when nobody had asked for them", async () => {
    expect(await decisionAfter(times(3, () => unasked))).toBe("no-progress");
    expect(await decisionAfter([unasked, { code: 69 }, unasked, { stop: "signal TERM" }])).toBe("run");
    expect(await decisionAfter([unasked, { code: 69 }, unasked, { code: 143 }, unasked])).toBe("no-progress");
  });

  it("do not stop it when one of them went further", async () => {
    const chain = chainOf("us-x");
    leave(chain, [unasked, unasked, { ...unasked, before: 2 }]);
    chain.checkpoint(2);
    await chain.link(LINK, { job: ME });
    expect(chain.json(`links/1-${LINK}.json`)).toMatchObject({ decision: "run", attempt: 4 });
  });
});
