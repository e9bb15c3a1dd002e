import { describe, expect, it } from "vitest";
import { shareOf, slurmResources, withOneGpu } from "../../../src/launch/slurm/resources.ts";
import { slurmJob, slurmProfile } from "./plan-support.ts";

const WHOLE = { gres: "gpu:h100:8,nvme:1", nodes: 2, cpusPerTask: 96, memory: "900G" };

describe("what a job asks Slurm for", () => {
  it("is what the profile says, when it trains", () => {
    const profile = slurmProfile(WHOLE);
    expect(slurmResources(slurmJob(profile), profile)).toEqual({ ...WHOLE, processes: 8 });
  });

  it.each(["infer", "score", "measure", "merge"] as const)("is the share of one GPU for %s", (kind) => {
    const profile = slurmProfile(WHOLE);
    expect(slurmResources(slurmJob(profile, { kind }), profile)).toEqual({
      nodes: 1,
      processes: 1,
      gres: "gpu:h100:1,nvme:1",
      cpusPerTask: 12,
      memory: "115200M",
    });
  });

  it("is left to the site where the profile says nothing, or has no share", () => {
    const profile = slurmProfile({ memory: "0", device: "cpu" });
    const job = slurmJob(profile, { kind: "score" });
    expect(slurmResources(job, profile)).toMatchObject({ gres: null, cpusPerTask: null, memory: null });
    expect(slurmResources(slurmJob(profile), profile)).toMatchObject({ memory: "0" });
  });
});

describe("one GPU", () => {
  it.each([
    ["gpu", "gpu"],
    ["gpu:8", "gpu:1"],
    ["gpu:h100", "gpu:h100"],
    ["gpu:h100:8", "gpu:h100:1"],
    ["gres:gpu:8", "gres:gpu:1"],
    ["license:4,gpu:a100:4,gpu:h100:8,nvme:2", "license:4,gpu:a100:1,nvme:2"],
    ["gpumem:8", "gpumem:8"],
  ])("of %s is %s", (whole, one) => {
    expect(withOneGpu(whole)).toBe(one);
  });
});

describe("a share of the memory", () => {
  it.each([
    ["800G", "100G"],
    ["900G", "115200M"],
    ["1T", "128G"],
    ["4000", "500M"],
    ["1001", "128128K"],
    ["7K", "1K"],
    ["900gb", "115200M"],
    ["0", null],
    ["0G", null],
    ["lots", "lots"],
  ])("of %s is %s", (whole, share) => {
    expect(shareOf(whole, 8)).toBe(share);
  });
});
