import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { sha256 } from "../../../src/core/hash.ts";
import {
  digestFar,
  downloadFar,
  farArtifacts,
  farLog,
  listFar,
  readFar,
  writeFar,
  type Transport,
} from "../../../src/launch/transport/index.ts";

/** A transport, a folder that its user may write to, and one that is only ours. Both lie on this machine. */
export interface FarPlace {
  readonly transport: Transport;
  readonly far: string;
  readonly here: string;
}

const AWKWARD = 'it\'s a "näme" $HOME\nwith 角色';

/** What files on a far machine must do, over any transport. */
export const farFileCases = (name: string, open: () => Promise<FarPlace>): void => {
  describe(`far files: ${name}`, () => {
    let place: FarPlace;
    beforeAll(async () => {
      place = await open();
    });
    afterAll(async () => place.transport.close());

    it("writes a file with its mode and folders, and reads it back", async () => {
      const path = join(place.far, AWKWARD, "job.json");
      const text = "line\n'q' $x ünï\n\n";
      await writeFar(place.transport, { path, mode: 0o640, text });
      expect(readFileSync(path, "utf8")).toBe(text);
      expect(statSync(path).mode & 0o777).toBe(0o640);
      expect((await readFar(place.transport, path)).toString()).toBe(text);
      await writeFar(place.transport, { path, mode: 0o600, text: "" });
      expect((await readFar(place.transport, path)).length).toBe(0);
      // Nothing but the file is left.
      expect(readdirSync(join(place.far, AWKWARD))).toEqual(["job.json"]);
    });

    it("says so when it cannot write", async () => {
      writeFileSync(join(place.far, "a-file"), "");
      const writing = writeFar(place.transport, {
        path: join(place.far, "a-file/x"),
        mode: 0o600,
        text: "x",
      });
      await expect(writing).rejects.toMatchObject({ code: "FAR_COMMAND_FAILED" });
    });

    it("reads a range of bytes", async () => {
      const path = join(place.far, "range");
      writeFileSync(path, Buffer.from([0, 1, 2, 255, 10, 13, 6, 7]));
      expect([...(await readFar(place.transport, path, 2, 5))]).toEqual([2, 255, 10]);
      expect([...(await readFar(place.transport, path, 6))]).toEqual([6, 7]);
      expect([...(await readFar(place.transport, path, 6, 100))]).toEqual([6, 7]);
      expect([...(await readFar(place.transport, path, 100))]).toEqual([]);
      expect([...(await readFar(place.transport, path, 3, 3))]).toEqual([]);
    });

    it("tells a missing file from an unreadable one", async () => {
      const missing = join(place.far, "none");
      await expect(readFar(place.transport, missing)).rejects.toMatchObject({ code: "ARTIFACT_MISSING" });
      await expect(digestFar(place.transport, missing)).rejects.toMatchObject({ code: "ARTIFACT_MISSING" });
      const download = downloadFar(place.transport, missing, join(place.here, "none"));
      await expect(download).rejects.toMatchObject({ code: "ARTIFACT_MISSING" });
    });

    it("lists all files below a folder with their sizes", async () => {
      const folder = join(place.far, "tree");
      mkdirSync(join(folder, "deep/er"), { recursive: true });
      writeFileSync(join(folder, "b"), "22");
      writeFileSync(join(folder, "deep/er", AWKWARD), "333");
      writeFileSync(join(folder, "deep/ leading"), "");
      symlinkSync("b", join(folder, "link"));
      expect(await listFar(place.transport, folder)).toEqual([
        { path: "b", bytes: 2 },
        { path: "deep/ leading", bytes: 0 },
        { path: `deep/er/${AWKWARD}`, bytes: 3 },
      ]);
      expect(await listFar(place.transport, join(place.far, "no-folder"))).toEqual([]);
    });

    it("tells a digest", async () => {
      const path = join(place.far, "a\\b");
      writeFileSync(path, "some text");
      expect(await digestFar(place.transport, path)).toBe(sha256("some text"));
    });

    it("downloads, goes on with a part, and fetches a wrong part anew", async () => {
      const path = join(place.far, "big");
      const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
      writeFileSync(path, bytes);
      const to = join(place.here, "in/here/big");
      await downloadFar(place.transport, path, to);
      expect(readFileSync(to).equals(bytes)).toBe(true);
      for (const part of [bytes.subarray(0, 100_000), Buffer.alloc(1000), Buffer.alloc(400_000)]) {
        writeFileSync(`${to}.part`, part);
        await downloadFar(place.transport, path, to);
        expect(readFileSync(to).equals(bytes)).toBe(true);
      }
      expect(readdirSync(join(place.here, "in/here"))).toEqual(["big"]);
    });

    it("keeps artifacts inside the run's folder", async () => {
      mkdirSync(join(place.far, "run/output"), { recursive: true });
      writeFileSync(join(place.far, "run/output/x.json"), "{}");
      const store = farArtifacts(place.transport, join(place.far, "run"));
      expect(await store.list("output")).toEqual([{ path: "output/x.json", bytes: 2 }]);
      expect(await store.list(".")).toEqual([{ path: "output/x.json", bytes: 2 }]);
      expect(Buffer.from(await store.read("output/x.json", 1)).toString()).toBe("}");
      await expect(store.read("../range")).rejects.toMatchObject({ code: "ARTIFACT_OUTSIDE" });
      await expect(store.list("/etc")).rejects.toMatchObject({ code: "ARTIFACT_OUTSIDE" });
    });

    it("gives each complete line of a log once, and a torn one when it is whole", async () => {
      const path = join(place.far, "log.txt");
      const stop = new AbortController();
      const lines: string[] = [];
      const quick = { ...systemClock, sleep: async () => systemClock.sleep(20) };
      const read = (async () => {
        const options = { follow: true, signal: stop.signal };
        for await (const chunk of farLog(place.transport, path, { offset: 0 }, options, quick)) {
          lines.push(...chunk.lines);
          if (lines.at(-1) === "end") stop.abort();
        }
      })();
      writeFileSync(path, "one\ntw");
      await expect.poll(() => lines).toEqual(["one"]);
      writeFileSync(path, "one\ntwö\n\nend\n");
      await read;
      expect(lines).toEqual(["one", "twö", "", "end"]);
      const rest: string[] = [];
      const once = { follow: false, signal: new AbortController().signal };
      for await (const chunk of farLog(place.transport, path, { offset: 4 }, once, systemClock))
        rest.push(...chunk.lines);
      expect(rest).toEqual(["twö", "", "end"]);
    });
  });
};
