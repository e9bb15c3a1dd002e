import { describe, expect, it } from "vitest";
import { ClipMemory } from "../../src/dataset/shard/clip-memory.ts";

const filled = (memory: ClipMemory, size: number, value: number): Uint8Array => memory.take(size).fill(value);
const isAll = (bytes: Uint8Array, value: number): boolean => bytes.every((byte) => byte === value);

describe("ClipMemory", () => {
  it("keeps what was taken since the last beginning, and uses the rest again", () => {
    const memory = new ClipMemory();
    memory.begin();
    const first = Array.from({ length: 40 }, (_, index) => filled(memory, 300_000, index));
    memory.begin();
    const pending = filled(memory, 300_000, 200);
    expect(first.every((bytes, index) => isAll(bytes, index))).toBe(true);
    memory.releaseEarlier();
    const second = Array.from({ length: 40 }, (_, index) => filled(memory, 300_000, 100 + index));
    expect(isAll(pending, 200)).toBe(true);
    expect(second.every((bytes, index) => isAll(bytes, 100 + index))).toBe(true);
    const before = new Set(first.map(({ buffer }) => buffer));
    expect(second.some(({ buffer }) => before.has(buffer))).toBe(true);
  });

  it("has room for a clip of any length, and copies only what lies elsewhere", () => {
    const memory = new ClipMemory();
    const long = filled(memory, 5_000_000, 7);
    const other = new Uint8Array([1, 2, 3]);
    expect(memory.keep(long)).toBe(long);
    const kept = memory.keep(other);
    other.fill(0);
    expect([...kept]).toEqual([1, 2, 3]);
    expect(isAll(long, 7)).toBe(true);
  });
});
