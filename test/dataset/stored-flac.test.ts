import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { openFlac } from "../../src/audio/index.ts";

// The payload's tests read this file: what they prove of it holds for what is packed only as long as it is the same.
const golden = resolve(import.meta.dirname, "../../launchers/payload/tests/golden/tone.flac");

describe("the FLAC file that the payload's tests read", () => {
  it("is what the packer writes", async () => {
    const tone = Array.from({ length: 4_000 }, (_, at) => ((at * 37) % 4_001) - 2_000 + ((at * at) % 7));
    const flac = await openFlac();
    const written = flac.encode(Int16Array.of(...tone, 32_767, -32_768), 16_000);
    expect(Buffer.from(written).equals(await readFile(golden))).toBe(true);
  });
});
