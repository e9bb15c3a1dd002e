import { describe, expect, it } from "vitest";
import { RemoteError } from "../../src/core/errors.ts";
import { ingestPayloadEvents, openStore, type ReadBytes } from "../../src/track/index.ts";
import { leaseOn, opened } from "./support.ts";

const event = (step: number): string =>
  `${JSON.stringify({ v: 1, at: "2026-01-31T10:00:00Z", attempt: 1, type: "step", step, loss: 10 - step, note: "ü" })}\n`;

const readerOf =
  (file: { text: Buffer }): ReadBytes =>
  async (start, end) =>
    file.text.subarray(start, end);

describe("ingestPayloadEvents", () => {
  it("takes each line once, wherever the file is cut between two readings", async () => {
    const whole = Buffer.from(event(1) + event(2));
    for (let cut = 0; cut <= whole.length; cut += 7) {
      const { store, lease, runId } = opened();
      const file = { text: whole.subarray(0, cut) };
      await ingestPayloadEvents(store, lease, readerOf(file));
      file.text = whole;
      await ingestPayloadEvents(store, lease, readerOf(file));
      expect(await ingestPayloadEvents(store, lease, readerOf(file))).toEqual([]);
      expect(store.series(runId, "train/loss")).toEqual([
        { step: 1, value: 9 },
        { step: 2, value: 8 },
      ]);
      expect(store.events(runId, { types: ["step"] }).map(({ data }) => data)).toEqual([
        { step: 1, loss: 9, note: "ü" },
        { step: 2, loss: 8, note: "ü" },
      ]);
      store.close();
    }
  });

  it("keeps a line that a killed writer left half, and the good ones around it", async () => {
    const { store, lease, runId } = opened();
    const file = { text: Buffer.from(`${event(1)}{"v":1,"at":"2026\n\n${event(2)}{"v":1,"torn`) };
    const lines = await ingestPayloadEvents(store, lease, readerOf(file));
    expect(lines.map(({ type }) => type)).toEqual(["step", "unreadable", "step"]);
    expect(store.events(runId, { types: ["unreadable"] })[0]?.data).toEqual({ line: '{"v":1,"at":"2026' });
  });

  it("waits for a file that is not there, and reads one larger than a block", async () => {
    const { store, lease, runId } = opened();
    const missing: ReadBytes = async () => {
      throw new RemoteError("ARTIFACT_MISSING", "not yet");
    };
    expect(await ingestPayloadEvents(store, lease, missing)).toEqual([]);
    const broken: ReadBytes = async () => {
      throw new RemoteError("DISK_BROKEN", "no");
    };
    await expect(ingestPayloadEvents(store, lease, broken)).rejects.toThrow("no");
    const count = 12_000;
    const text = Buffer.from(Array.from({ length: count }, (_, step) => event(step)).join(""));
    expect(text.length).toBeGreaterThan(1024 * 1024);
    expect(await ingestPayloadEvents(store, lease, readerOf({ text }))).toHaveLength(count);
    expect(store.series(runId, "train/loss")).toHaveLength(count);
  });

  it("of two readers at the same place only one takes the lines in", async () => {
    const { store, path, clock, lease, runId } = opened();
    const other = openStore(path, clock);
    const file = { text: Buffer.from(event(1)) };
    const stale: ReadBytes = async (start, end) => {
      // Somebody else is faster, between our look at the cursor and our write.
      if (start === 0) await ingestPayloadEvents(other, lease, readerOf(file));
      return file.text.subarray(start, end);
    };
    expect(await ingestPayloadEvents(store, lease, stale)).toEqual([]);
    expect(store.events(runId, { types: ["step"] })).toHaveLength(1);
    store.releaseLease(lease);
    leaseOn(other, runId, "other");
    file.text = Buffer.from(event(1) + event(2));
    await expect(ingestPayloadEvents(store, lease, readerOf(file))).rejects.toMatchObject({
      code: "LEASE_LOST",
    });
  });
});
