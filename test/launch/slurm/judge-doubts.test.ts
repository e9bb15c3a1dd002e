import { describe, expect, it } from "vitest";
import type { Observation } from "../../../src/launch/schema.ts";
import { judge } from "../../../src/launch/slurm/judge.ts";
import { accounted, begun, NOW, queued, result, sceneOf, US, type Told } from "./scenes.ts";

const TABLE: readonly [what: string, told: Told, seen: Partial<Observation> | "accounts"][] = [
  [
    "was cancelled just now, and has no row in the accounts yet: nobody knows by whom",
    { queue: { 1: queued("CANCELLED", { end: NOW - 20 }) }, files: begun(), accounts: {} },
    { phase: "unavailable" },
  ],
  [
    "was cancelled while it waited, and has no row in the accounts yet",
    { queue: { 1: queued("CANCELLED", { end: NOW - 20, nodes: "" }) }, accounts: {} },
    { phase: "unavailable" },
  ],
  [
    "was cancelled long ago, and never got a row",
    { queue: { 1: queued("CANCELLED", { end: NOW - 301 }) }, files: begun(), accounts: {} },
    { phase: "ended", cause: "cancelled" },
  ],
  [
    "was cancelled, on a cluster that keeps no accounts",
    { queue: { 1: queued("CANCELLED", { end: NOW - 20 }) }, files: begun(), accounts: "none" },
    { phase: "ended", cause: "cancelled" },
  ],
  [
    "was cancelled by a user who may be us",
    {
      queue: { 1: queued("CANCELLED") },
      files: begun(),
      accounts: { 1: [accounted(`CANCELLED by ${US}`)] },
      nobody: true,
    },
    { phase: "unavailable", detail: expect.stringContaining(`by user ${US}`) },
  ],
  [
    "was cancelled while it waited by a user who may be us",
    {
      queue: { 1: queued("CANCELLED", { nodes: "" }) },
      accounts: { 1: [accounted("CANCELLED by 0")] },
      nobody: true,
    },
    { phase: "unavailable" },
  ],
  [
    "was cancelled by whoever, after a stop of ours",
    {
      queue: { 1: queued("CANCELLED") },
      files: { ...begun(), STOP: "cancel\n" },
      accounts: { 1: [accounted("CANCELLED by 0")] },
      nobody: true,
    },
    { phase: "ended", cause: "cancelled" },
  ],
  [
    "failed a minute ago without a file, which a network filesystem may not show yet",
    { queue: { 1: queued("FAILED", { end: NOW - 60 }) }, network: true },
    { phase: "live", state: "stopping" },
  ],
  [
    "failed two minutes ago without a file, over a network",
    { queue: { 1: queued("FAILED", { end: NOW - 120 }) }, network: true },
    { phase: "ended", cause: "not_started" },
  ],
  [
    "failed a minute ago without a file, on a disk of this machine",
    { queue: { 1: queued("FAILED", { end: NOW - 60 }) } },
    { phase: "ended", cause: "not_started" },
  ],
  [
    "lost its node just now, and may have begun there",
    { queue: { 1: queued("NODE_FAIL", { end: NOW - 5 }) } },
    { phase: "live", state: "stopping" },
  ],
  [
    "hit its limit a minute ago, and may have begun, over a network",
    { queue: { 1: queued("TIMEOUT", { end: NOW - 60 }) }, network: true },
    { phase: "live", state: "stopping" },
  ],
  [
    "was cancelled while it waited: no node has anything to say",
    {
      queue: { 1: queued("CANCELLED", { end: NOW - 1, nodes: "" }) },
      accounts: { 1: [accounted("CANCELLED by 0", { end: NOW - 1, nodes: "None assigned" })] },
      network: true,
    },
    { phase: "ended", cause: "cancelled_by_other" },
  ],
  [
    "ended a minute ago without a result, over a network",
    { queue: { 1: queued("COMPLETED", { end: NOW - 60 }) }, files: begun(), network: true },
    { phase: "live", state: "stopping" },
  ],
  [
    "waits for a job that has failed",
    { queue: { 1: queued("PENDING", { reason: "DependencyNeverSatisfied" }) } },
    { phase: "live", state: "queued", warning: expect.stringContaining("never starts") },
  ],
  [
    "has its number taken by another submission, while it waits",
    {
      number: 2,
      token: "mine",
      queue: { 1: queued("PENDING") },
      files: result(0),
      claims: { "us-r-a2": "99", "us-r-a1.link-2": "99" },
    },
    {
      phase: "ended",
      result: null,
      cause: "fenced",
      continues: { token: "mine.3", refs: [expect.objectContaining({ marker: "us-r-a3" })] },
    },
  ],
  [
    "has its number taken by another submission, and has begun a later one",
    {
      number: 2,
      token: "mine",
      queue: { 1: queued("RUNNING") },
      claims: { "us-r-a2": "99", "us-r-a3": "98", "us-r-a4": "11" },
    },
    { phase: "ended", cause: "fenced", continues: expect.objectContaining({ token: "mine.3" }) },
  ],
  [
    "has its number taken by another submission, and is younger than the look at the queue",
    { number: 2, token: "mine", claims: { "us-r-a2": "99" } },
    "accounts",
  ],
  [
    "has its number taken by another submission, and is nowhere",
    { number: 2, token: "mine", claims: { "us-r-a2": "99" }, accounts: {} },
    { phase: "absent" },
  ],
  [
    "has its number taken by another submission, and has left the queue",
    { number: 2, token: "mine", claims: { "us-r-a2": "99" }, accounts: { 1: [accounted("FAILED")] } },
    { phase: "ended", cause: "fenced" },
  ],
  [
    "has its number taken by another submission, and is over",
    { number: 2, token: "mine", queue: { 1: queued("FAILED") }, claims: { "us-r-a2": "99" } },
    { phase: "ended", cause: "fenced" },
  ],
];

describe("what is said of a job that", () => {
  it.each(TABLE)("%s", (_what, told, seen) => {
    const judged = judge(sceneOf(told));
    if (seen === "accounts") expect(judged).toBe("accounts");
    else expect(judged).toMatchObject(seen);
    if (typeof seen === "object" && seen.phase === "ended" && !("continues" in seen)) {
      expect(judged).not.toHaveProperty("continues");
    }
  });
});
