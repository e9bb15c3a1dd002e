import { describe, expect, it } from "vitest";
import { parseReply } from "../../../src/launch/slurm/reply.ts";
import { hasErrorText, readRefusal } from "../../../src/launch/slurm/refusals.ts";
import { captured, sample } from "./samples.ts";

describe("a refused submission", () => {
  const refused = captured("errors.txt").filter(
    ({ command, code }) => command.startsWith("sbatch") && code !== 0,
  );

  it.each(refused.map(({ command, code, stderr }) => ({ command, code, stderr })))(
    "$command will never be accepted",
    ({ code, stderr }) => {
      expect(readRefusal(code, stderr)).toMatchObject({ kind: "permanent" });
      expect(readRefusal(code, stderr).reason).not.toMatch(/sbatch: error/);
    },
  );

  it("is one of at least twenty captured ones", () => {
    expect(refused.length).toBeGreaterThanOrEqual(20);
  });

  it.each(
    sample("errors-enforcepartlimits.txt")
      .split(/^(?=\$ )/m)
      .filter((block) => block.includes("rc=1"))
      .map((block) => block.split("\n").slice(0, 2)),
  )("%s: %s", (_command, stderr = "") => {
    expect(readRefusal(1, stderr).kind).toBe("permanent");
  });

  it.each([
    ["Batch job submission failed: Socket timed out on send/recv operation", "ambiguous"],
    ["Batch job submission failed: Unable to contact slurm controller (connect failure)", "ambiguous"],
    ["Batch job submission failed: Zero Bytes were transmitted or received", "ambiguous"],
    ["Batch job submission failed: Unspecified error", "ambiguous"],
    ["a text from next year's version", "ambiguous"],
    ["", "ambiguous"],
    [
      "QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
      "wait",
    ],
    [
      "AssocMaxSubmitJobLimit\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
      "wait",
    ],
    [
      "Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
      "wait",
    ],
    ["Slurm temporarily unable to accept job, sleeping and retrying", "wait"],
    ["Batch job submission failed: Required partition not available (inactive or drain)", "wait"],
    ["Batch job submission failed: Invalid account or account/partition combination specified", "permanent"],
  ])("%j is %s", (text, kind) => {
    expect(readRefusal(1, `sbatch: error: ${text}`).kind).toBe(kind);
  });

  it.each([
    ["sbatch: error: Invalid --mem specification", "memory: in the profile"],
    ["sbatch: error: Invalid --time specification", "time: in the profile"],
    [
      "Invalid time specification (pos=0): soon\nsbatch: error: Invalid --begin specification",
      "--begin in extra:",
    ],
    ['sbatch: error: Invalid numeric value "few" for --cpus-per-task.', "cpusPerTask: in the profile"],
    ['sbatch: error: Invalid numeric value "few" for --threads-per-core.', "--threads-per-core in extra:"],
    ['sbatch: error: "x" is not a valid node count', "nodes: in the profile"],
    ["allocation failure: Invalid Trackable RESource (TRES) specification", "gres: in the profile"],
    [
      "sbatch: unrecognized option '--nosuch=1'",
      "extra: in the profile; this version of sbatch does not know",
    ],
  ])("%j is answered by the key that it is about", (text, hint) => {
    expect(readRefusal(1, text)).toMatchObject({ kind: "permanent", hint: expect.stringContaining(hint) });
  });

  it("with the controller hung is ambiguous, with munge down was never sent", () => {
    const [down, hung, munge] = captured("errors-down.txt").filter(
      ({ command, code }) => command.startsWith("sbatch") && code !== 0,
    );
    expect(readRefusal(1, down?.stderr ?? "").kind).toBe("ambiguous");
    expect(readRefusal(1, hung?.stderr ?? "").kind).toBe("ambiguous");
    expect(readRefusal(1, munge?.stderr ?? "").kind).toBe("unreachable");
  });

  it("says what to do where the profile can help, and that sbatch is not there", () => {
    expect(readRefusal(1, "Batch job submission failed: Invalid qos specification")).toMatchObject({
      hint: expect.stringContaining("qos:"),
    });
    expect(readRefusal(127, "sh: 1: exec: sbatch: not found")).toMatchObject({
      kind: "permanent",
      hint: expect.stringContaining("PATH"),
    });
  });
});

describe("an accepted submission", () => {
  it("stays one when sbatch talks about sleeping and retrying", () => {
    const stderr = "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying";
    expect(hasErrorText(stderr)).toBe(true);
    // Standard error does not count once there is an id.
    expect(parseReply("4711\n")).toEqual({ id: "4711", cluster: null });
  });
});

describe("an answer with exit code 0", () => {
  it.each([
    "squeue: error: Invalid user: nosuchuser",
    "slurm_load_jobs error: Socket timed out on send/recv operation",
    "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
    "sacct: error: Problem talking to the database: Connection refused",
  ])("does not count with %j on standard error", (stderr) => {
    expect(hasErrorText(stderr)).toBe(true);
  });

  it("counts with a mere notice there", () => {
    expect(hasErrorText("squeue: this cluster will be down on 24 December")).toBe(false);
  });
});
