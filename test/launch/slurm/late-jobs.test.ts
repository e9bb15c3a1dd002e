import { describe, expect, it } from "vitest";
import { withLateJobs } from "../../../src/launch/slurm/late-jobs.ts";
import type { RefOf } from "../../../src/launch/schema.ts";
import type { QueuedJob } from "../../../src/launch/slurm/squeue.ts";
import { NOW, queued, sceneOf } from "./scenes.ts";

const chained = (links: number, number = 1): RefOf<"slurm"> => sceneOf({ links, number }).ref;
const link = (id: string, number: number, changes: Partial<QueuedJob> = {}): QueuedJob =>
  queued("PENDING", {
    id,
    comment: JSON.stringify({ marker: changes.name ?? "us-r-a1", link: number }),
    ...changes,
  });
const own = [link("11", 1), link("12", 2)];

describe("links of a chain that its submission has not heard of", () => {
  it("are adopted from the queue, by name and comment", () => {
    const ref = chained(2);
    expect(withLateJobs(ref, [...own, link("19", 3)])).toEqual({
      ...ref,
      jobs: [...ref.jobs, { id: "19", link: 3 }],
    });
  });

  it("are adopted from their claims once they have left the queue", () => {
    const claims = new Map([
      ["us-r-a1", "11"],
      ["us-r-a1.link-1", "11"],
      ["us-r-a1.link-3", "19"],
      ["us-r-a1.link-4", ""],
      ["us-other-a1.link-5", "23"],
    ]);
    expect(withLateJobs(chained(2), [], claims).jobs.slice(2)).toEqual([{ id: "19", link: 3 }]);
  });

  it("are known by the name of the first attempt, which the jobs of a later one have", () => {
    const later = chained(2, 2);
    expect(withLateJobs(later, [...own, link("19", 3)]).jobs).toHaveLength(3);
    const claims = new Map([
      ["us-r-a1.link-2", "12"],
      ["us-r-a1.link-3", "19"],
    ]);
    expect(withLateJobs(later, [], claims).jobs).toHaveLength(3);
    // Nothing says that this attempt has anything to do with the chain of the first.
    expect(withLateJobs(later, [link("19", 3)])).toBe(later);
  });

  it.each([
    ["a second job for a link that is there", link("19", 2)],
    ["a job of that name with another's comment", link("19", 3, { comment: "mine" })],
    ["a link of another attempt's submission", link("19", 3, { name: "us-r-a2" })],
    ["a link of another run", link("19", 3, { name: "us-s-a1" })],
    ["one from long before", link("19", 3, { submit: NOW - 90_000 })],
  ])("are not %s", (_name, row) => {
    const ref = chained(2);
    expect(withLateJobs(ref, [...own, row])).toBe(ref);
  });
});
