import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { InternalError, UserError } from "../../src/core/errors.ts";
import { errorOf, failureOf } from "../../src/dataset/pack/worker-protocol.ts";

const there = (error: unknown): Error => errorOf(failureOf(error));

describe("an error that comes from a packing thread", () => {
  it("is of its class, with code, words and hint", () => {
    const error = new UserError("CLIP_BAD", "a clip is bad", { hint: "mend it" });
    expect(there(error)).toEqual(error);
    expect(there(error)).toBeInstanceOf(UserError);
  });

  it("is for the person where the machine refused something, and else a bug", async () => {
    const refused: unknown = await readFile("/").catch((error: unknown) => error);
    expect(there(refused)).toBeInstanceOf(UserError);
    expect(there(refused)).toMatchObject({ code: "EISDIR", message: expect.stringContaining("EISDIR") });
    const mistake: unknown = await readFile("\0").catch((error: unknown) => error);
    expect(there(mistake)).toBeInstanceOf(InternalError);
    expect(there(mistake)).toMatchObject({ code: "PACK_THREAD_FAILED" });
    expect(there("thrown text")).toMatchObject({ code: "PACK_THREAD_FAILED", message: "thrown text" });
  });
});
