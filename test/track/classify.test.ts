import { describe, expect, it } from "vitest";
import type { Observation, WrapperResult } from "../../src/launch/index.ts";
import { classify, END_REASONS, type Evidence } from "../../src/track/index.ts";

describe("classify", () => {
  const result = (changes: Partial<WrapperResult>): Observation => ({
    phase: "ended",
    detail: "seen",
    result: {
      schemaVersion: 1,
      marker: "m",
      exitCode: 0,
      signal: null,
      startedAt: "",
      endedAt: "",
      host: "h",
      reason: "exited",
      detail: "",
      ...changes,
    },
  });
  const evidence = (changes: Partial<Evidence> = {}): Evidence => ({
    stopRequested: false,
    proof: false,
    lastEvent: null,
    ...changes,
  });
  const killed = { reason: "signalled", exitCode: 137, signal: "SIGKILL" } as const;
  const stop = { stopRequested: true } as const;
  const stopped = { lastEvent: { type: "stopped" } };

  it.each<[string, Partial<WrapperResult>, Partial<Evidence>, string]>([
    ["exit 0 with proof", {}, { proof: true }, "succeeded"],
    ["exit 0 with proof although a stop was asked for", {}, { proof: true, ...stop }, "succeeded"],
    ["exit 0 without proof", {}, {}, "no_proof"],
    ["exit 0 without proof after a stop", {}, stop, "cancelled"],
    ["exit 2", { exitCode: 2 }, { proof: true }, "config_error"],
    ["exit 3 on request", { exitCode: 3 }, stop, "cancelled"],
    ["exit 3 by itself", { exitCode: 3 }, { proof: true }, "stopped"],
    ["exit 75", { exitCode: 75 }, { proof: true }, "fenced"],
    ["exit 1", { exitCode: 1 }, { proof: true }, "crashed"],
    [
      "exit 1 after a failed event about memory",
      { exitCode: 1 },
      { lastEvent: { type: "failed", code: "CUDA_OUT_OF_MEMORY" } },
      "out_of_memory",
    ],
    ["torchrun's exit 1 after a stop by itself", { exitCode: 1 }, stopped, "stopped"],
    ["torchrun's exit 1 after a stop on request", { exitCode: 1 }, { ...stopped, ...stop }, "cancelled"],
    ["an exit code nobody knows", { exitCode: 199 }, { proof: true }, "crashed"],
    ["KILL", killed, { proof: true }, "killed"],
    ["KILL after a stop", killed, stop, "cancelled"],
    ["SEGV", { ...killed, signal: "SIGSEGV" }, {}, "crashed"],
    ["a signal nobody knows", { ...killed, signal: "SIGNEW" }, { proof: true }, "crashed"],
    ["an unfit machine", { reason: "node-check", exitCode: 69 }, {}, "node_check"],
  ])("%s", (_case, seen, known, name) => {
    const ending = classify(result(seen), evidence(known));
    expect(ending?.name).toBe(name);
    expect(ending).toMatchObject(END_REASONS[ending?.name ?? "unknown"]);
    expect(ending?.exitCode).toBe(seen.exitCode ?? 0);
  });

  it("resumes what was killed without a trace, unless it was to stop", () => {
    const gone: Observation = { phase: "ended", result: null, detail: "" };
    expect(classify(gone, evidence({ proof: true }))).toMatchObject({
      name: "node_lost",
      retry: "resume",
      budget: "infra",
    });
    expect(classify(gone, evidence(stop))?.name).toBe("cancelled");
  });

  it("concludes nothing from silence, and asks a person once absence is proven", () => {
    for (const phase of ["live", "unavailable", "absent"] as const) {
      expect(classify({ phase, detail: "" }, evidence({ proof: true, ...stop }))).toBeNull();
    }
    const absent: Observation = { phase: "absent", detail: "" };
    expect(classify(absent, evidence({ absenceProven: true, proof: true }))).toMatchObject({
      status: "lost",
      retry: "none",
    });
  });

  it("has no way to success but exit 0 with proof, whatever the exit code", () => {
    for (let exitCode = -1; exitCode < 260; exitCode++) {
      for (const reason of ["exited", "signalled", "node-check"] as const) {
        for (const proof of [true, false]) {
          const name = classify(result({ exitCode, reason, signal: "SIGTERM" }), evidence({ proof }))?.name;
          expect(name === "succeeded", `${exitCode} ${reason} ${proof}`).toBe(
            exitCode === 0 && reason === "exited" && proof,
          );
        }
      }
    }
  });
});
