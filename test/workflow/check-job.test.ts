import { describe, expect, it } from "vitest";
import { jobInvalid } from "../../src/workflow/check-job.ts";

describe("several problems of a job", () => {
  it("have each cure below its problem, and a common one once at the end", () => {
    const [disk, image] = [
      { message: "the disk is full", hint: "free some space" },
      { message: "the image names no digest", hint: "append @sha256:…" },
    ].map((problem) => ({ code: "X", ...problem }));
    if (!disk || !image) throw new Error("two problems are given");
    const two = jobInvalid([disk, image, { code: "X", message: "no role" }]);
    expect(two.message).toBe(
      "The job cannot be started:\n  the disk is full\n    hint: free some space\n  the image names no digest\n    hint: append @sha256:…\n  no role",
    );
    expect(two.hint).toBeUndefined();
    const same = jobInvalid([disk, { ...image, hint: disk.hint }]);
    expect(same.message).toBe("The job cannot be started:\n  the disk is full\n  the image names no digest");
    expect(same.hint).toBe("free some space");
  });
});
