import { describe, expect, it } from "vitest";
import { chooseHosts } from "../../../src/launch/ssh/choose.ts";
import type { Look, LookOutcome } from "../../../src/launch/ssh/look.ts";

const host = (name: string): Look["host"] => ({
  name,
  transport: async () => {
    throw new Error("nobody connects here");
  },
});
const look = (name: string, changes: Partial<Look> = {}): Look => ({
  kind: "look",
  host: host(name),
  node: name,
  claim: null,
  ticket: null,
  lease: false,
  newest: 0,
  begun: 0,
  work: false,
  ...changes,
});
const silent = (name: string, code = "UNREACHABLE"): LookOutcome => ({
  kind: "problem",
  host: host(name),
  started: "no",
  code,
  reason: `${name}: ${code}`,
});
const tried = (
  outcomes: readonly LookOutcome[],
  attempt: number,
  excluded: readonly string[] = [],
): readonly string[] => {
  const choice = chooseHosts(outcomes, attempt, excluded);
  if (choice.kind === "answer") throw new Error(JSON.stringify(choice.answer));
  return choice.looks.map((one) => one.host.name);
};
const answered = (outcomes: readonly LookOutcome[], attempt: number): unknown => {
  const choice = chooseHosts(outcomes, attempt);
  return choice.kind === "answer" ? choice.answer : choice.looks.map((one) => one.host.name);
};

describe("chooseHosts", () => {
  it("goes through the list in its order, past hosts that do not answer", () => {
    expect(tried([look("a"), look("b")], 1)).toEqual(["a", "b"]);
    expect(tried([silent("a"), look("b")], 1)).toEqual(["b"]);
  });

  it("begins with the host that an earlier submission of the attempt has reserved", () => {
    expect(tried([look("a"), look("b", { lease: true })], 1)).toEqual(["b", "a"]);
  });

  it("tries machines that were unfit before last, by the name of the machine or of the host", () => {
    const outcomes = [look("a", { node: "node-a", begun: 10, lease: true }), look("b", { node: "node-b" })];
    expect(tried(outcomes, 2, ["node-a"])).toEqual(["b", "a"]);
    expect(tried([look("me@a:2222"), look("b")], 2, ["a"])).toEqual(["b", "me@a:2222"]);
    // Its checkpoints lie there: no other will do.
    expect(tried([look("a", { work: true }), look("b")], 2, ["a"])).toEqual(["a"]);
  });

  it("goes on where the checkpoints lie, and nowhere else", () => {
    const outcomes = [look("a"), look("b", { work: true, begun: 10, newest: 1 }), silent("c")];
    expect(tried(outcomes, 2)).toEqual(["b"]);
    expect(chooseHosts(outcomes, 2)).toMatchObject({ bound: "b" });
  });

  it("takes any host of those that share a disk", () => {
    const shared = { work: true, begun: 10, newest: 1 };
    expect(tried([look("a", shared), look("b", shared)], 2)).toEqual(["a", "b"]);
  });

  it("prefers the host where the run has begun when nothing was saved", () => {
    expect(tried([look("a"), look("b", { begun: 10, newest: 1 })], 2)).toEqual(["b", "a"]);
  });

  it("waits when a later attempt's checkpoints may lie on a host that does not answer", () => {
    expect(answered([look("a"), silent("b")], 2)).toMatchObject({
      outcome: "rejected",
      retry: "unreachable",
      reason: expect.stringContaining("checkpoints of this run may lie on b"),
    });
  });

  it.each([
    { claim: "a:12:34", ticket: null },
    { claim: null, ticket: "live" as const },
  ])("never sends a marker twice: $claim $ticket", (changes) => {
    expect(answered([look("b"), look("a", changes)], 1)).toEqual({
      outcome: "ambiguous",
      reason: "the marker is already taken on a",
    });
  });

  it("does not lock out a newer attempt", () => {
    expect(answered([look("a"), look("b", { newest: 3 })], 2)).toEqual({
      outcome: "rejected",
      reason: "attempt 3 has taken over this run",
    });
  });

  it("tells what heals by waiting from what does not", () => {
    expect(answered([silent("a")], 1)).toMatchObject({ retry: "unreachable" });
    expect(answered([silent("a", "HOST_KEY_CHANGED")], 1)).not.toHaveProperty("retry");
    expect(answered([silent("a", "AUTH_FAILED"), silent("b")], 1)).toMatchObject({ retry: "unreachable" });
  });
});
