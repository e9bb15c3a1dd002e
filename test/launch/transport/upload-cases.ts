import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sha256 } from "../../../src/core/hash.ts";
import type { JobInput } from "../../../src/launch/schema.ts";
import { ensureUploads } from "../../../src/launch/transport/index.ts";
import type { FarPlace } from "./far-cases.ts";

const WAYS = { umask: "0022" };

/** What sending content-addressed files must do, over any transport. */
export const uploadCases = (name: string, open: () => Promise<FarPlace>): void => {
  describe(`uploads: ${name}`, () => {
    let place: FarPlace;
    let count = 0;
    beforeAll(async () => {
      place = await open();
    });
    afterAll(async () => place.transport.close());

    /** A file here that is to lie there under a name of its own. */
    const input = (bytes: Buffer, file = "shard"): JobInput => {
      count += 1;
      const source = join(place.here, `${count}`, file);
      mkdirSync(dirname(source), { recursive: true });
      writeFileSync(source, bytes);
      return {
        role: "data",
        path: join(place.far, `${count}`, file),
        source,
        bytes: bytes.length,
        sha256: sha256(bytes),
      };
    };
    /** What an earlier try has left there. */
    const partOf = (wanted: JobInput, bytes: Buffer): void => {
      mkdirSync(dirname(wanted.path), { recursive: true });
      chmodSync(dirname(wanted.path), 0o777);
      writeFileSync(`${wanted.path}.part`, bytes);
      chmodSync(`${wanted.path}.part`, 0o666);
    };
    const arrived = (wanted: JobInput): boolean =>
      sha256(readFileSync(wanted.path)) === wanted.sha256 && !existsSync(`${wanted.path}.part`);

    it("sends what is missing, whatever its name, and nothing the second time", async () => {
      const inputs = ["plain", "with space", 'it\'s "q" $x', "角色-ünï", "-dash"].map((file) =>
        input(randomBytes(70_000), file),
      );
      inputs.push(input(Buffer.alloc(0), "empty"));
      const progress: number[] = [];
      const first = await ensureUploads(place.transport, inputs, {
        ...WAYS,
        onProgress: ({ bytes, total }) => {
          expect(total).toBe(350_000);
          progress.push(bytes);
        },
      });
      expect(first).toEqual({ sent: 6, bytes: 350_000 });
      expect(progress.at(-1)).toBe(350_000);
      expect(inputs.map(arrived)).toEqual(inputs.map(() => true));
      expect(await ensureUploads(place.transport, inputs, WAYS)).toEqual({ sent: 0, bytes: 0 });
      const more = input(Buffer.from("one more"));
      expect(await ensureUploads(place.transport, [...inputs, more], WAYS)).toEqual({ sent: 1, bytes: 8 });
    });

    it("asks about a thousand files and sends the one that is missing", async () => {
      const there = input(Buffer.from("there"));
      await ensureUploads(place.transport, [there], WAYS);
      const many = Array.from({ length: 1000 }, (_, index) => ({
        ...there,
        path: `${dirname(there.path)}/./${"x/../".repeat(0)}${"./".repeat(index % 300)}shard`,
      }));
      const missing = input(Buffer.from("missing"));
      expect(await ensureUploads(place.transport, [...many, missing], WAYS)).toEqual({ sent: 1, bytes: 7 });
    });

    it("goes on where an earlier try stopped", async () => {
      const bytes = randomBytes(3_000_000);
      const wanted = input(bytes);
      partOf(wanted, bytes.subarray(0, 2_000_001));
      expect(await ensureUploads(place.transport, [wanted], WAYS)).toEqual({ sent: 1, bytes: 999_999 });
      expect(arrived(wanted)).toBe(true);
    });

    it("only names a part that is whole already", async () => {
      const bytes = randomBytes(10_000);
      const wanted = input(bytes);
      partOf(wanted, bytes);
      expect(await ensureUploads(place.transport, [wanted], WAYS)).toEqual({ sent: 1, bytes: 0 });
      expect(arrived(wanted)).toBe(true);
    });

    it.each([
      ["damaged", 50_000],
      ["of full length but damaged", 100_000],
      ["too long", 200_000],
    ])("sends a part anew that is %s", async (_what, length) => {
      const wanted = input(randomBytes(100_000));
      partOf(wanted, randomBytes(length));
      await ensureUploads(place.transport, [wanted], WAYS);
      expect(arrived(wanted)).toBe(true);
    });

    it("refuses a file here that is not the recorded one", async () => {
      const other = { ...input(randomBytes(1000)), sha256: sha256("something else") };
      await expect(ensureUploads(place.transport, [other], WAYS)).rejects.toMatchObject({
        code: "INPUT_CHANGED",
      });
      expect(existsSync(other.path)).toBe(false);
      const longer = { ...input(randomBytes(1000)), bytes: 999 };
      await expect(ensureUploads(place.transport, [longer], WAYS)).rejects.toMatchObject({
        code: "INPUT_CHANGED",
      });
      expect(existsSync(longer.path)).toBe(false);
      const gone = { ...input(randomBytes(1)), source: join(place.here, "gone") };
      await expect(ensureUploads(place.transport, [gone], WAYS)).rejects.toMatchObject({
        code: "INPUT_GONE",
      });
    });

    it("names what has to be there already and is not, before anything is sent", async () => {
      const wanted = input(randomBytes(10));
      const absent = { ...input(randomBytes(10)), source: null };
      const sending = ensureUploads(place.transport, [wanted, absent], WAYS);
      await expect(sending).rejects.toMatchObject({ code: "INPUT_MISSING" });
      await expect(sending).rejects.toThrow(absent.path);
      expect(existsSync(wanted.path)).toBe(false);
      await ensureUploads(place.transport, [wanted], WAYS);
      expect(await ensureUploads(place.transport, [{ ...wanted, source: null }], WAYS)).toEqual({
        sent: 0,
        bytes: 0,
      });
    });

    it("never overwrites what is there under that name with another size", async () => {
      const wanted = input(randomBytes(100));
      mkdirSync(dirname(wanted.path), { recursive: true });
      writeFileSync(wanted.path, "other");
      await expect(ensureUploads(place.transport, [wanted], WAYS)).rejects.toMatchObject({
        code: "INPUT_DIFFERS",
      });
      expect(readFileSync(wanted.path, "utf8")).toBe("other");
    });

    it("lets two send the same files at once", async () => {
      const inputs = Array.from({ length: 4 }, () => input(randomBytes(2_000_000)));
      await Promise.all([1, 2].map(async () => ensureUploads(place.transport, inputs, WAYS)));
      expect(inputs.map(arrived)).toEqual([true, true, true, true]);
    });

    it("makes what it makes by the umask", async () => {
      const wanted = input(randomBytes(10));
      await ensureUploads(place.transport, [wanted], { umask: "0027" });
      expect(statSync(wanted.path).mode & 0o777).toBe(0o640);
      expect(statSync(dirname(wanted.path)).mode & 0o777).toBe(0o750);
    });

    it("stops when its caller gives up, and sends only the rest later", async () => {
      const wanted = input(randomBytes(40_000_000));
      const giveUp = new AbortController();
      const sending = ensureUploads(place.transport, [wanted], {
        ...WAYS,
        signal: giveUp.signal,
        onProgress: ({ bytes }) => {
          if (bytes > 10_000_000 && existsSync(`${wanted.path}.part`)) giveUp.abort();
        },
      });
      await expect(sending).rejects.toMatchObject({ code: "TRANSPORT_ABORTED" });
      const there = statSync(`${wanted.path}.part`).size;
      const { bytes } = await ensureUploads(place.transport, [wanted], WAYS);
      expect(bytes).toBeLessThanOrEqual(wanted.bytes - there);
      expect(arrived(wanted)).toBe(true);
    });
  });
};
