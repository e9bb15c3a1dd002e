import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { downloadAll } from "../../../src/launch/index.ts";
import {
  farArtifacts,
  localTransport,
  openTransport,
  type Transport,
} from "../../../src/launch/transport/index.ts";
import { realSuite } from "../../support/real-suite.ts";
import { temporaryFolder } from "../support.ts";
import { placeOn, sshBench, world } from "./ssh-bench.ts";

const clean: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of clean.splice(0).toReversed()) await step();
});

/** Writes files below `far`, and says how each is asked for. */
const wanted = (far: string, here: string, contents: ReadonlyMap<string, string | Buffer>) =>
  [...contents].map(([path, content]) => {
    mkdirSync(dirname(join(far, path)), { recursive: true });
    writeFileSync(join(far, path), content);
    return { path, bytes: Buffer.byteLength(content), to: join(here, path) };
  });

const counted = (transport: Transport, change?: (chunk: Buffer) => Buffer) => {
  let calls = 0;
  const counting: Transport = {
    ...transport,
    exec: async (argv, options = {}) => {
      calls += 1;
      const { onStdout } = options;
      if (onStdout === undefined || change === undefined || calls > 1) return transport.exec(argv, options);
      return transport.exec(argv, { ...options, onStdout: async (chunk) => onStdout(change(chunk)) });
    },
  };
  return { transport: counting, calls: () => calls };
};

const place = (): { readonly far: string; readonly here: string; readonly transport: Transport } => {
  const folder = temporaryFolder();
  const [far, here] = [join(folder.path, "far"), join(folder.path, "here")];
  mkdirSync(far);
  clean.push(() => folder.remove());
  return { far, here, transport: localTransport(world) };
};

describe("many files of a run", () => {
  it("come in few exchanges, byte for byte, whatever their names and sizes", async () => {
    const { far, here, transport } = place();
    const contents = new Map<string, string | Buffer>([
      ["empty", ""],
      ['a/it\'s "odd" $HOME\nwith \\ 角色', "odd"],
      ["-n", "a dash"],
      ["newlines", "\n\n1\n2\n"],
      ["large", Buffer.alloc(5_000_000, "large")],
      ["a/last empty", ""],
    ]);
    for (let index = 0; index < 500; index += 1)
      contents.set(`audio/${index}.wav`, `clip ${index}`.repeat(index));
    const files = wanted(far, here, contents);
    const { transport: counting, calls } = counted(transport);
    const told: number[] = [];
    await downloadAll(farArtifacts(counting, far), files, { onFile: (done) => told.push(done) });
    for (const [path, content] of contents) {
      expect(readFileSync(join(here, path)).equals(Buffer.from(content)), path).toBe(true);
    }
    expect(told).toEqual(files.map((_, index) => index + 1));
    // Two packs, and a digest, a size and one piece of the large one.
    expect(calls()).toBe(5);
    expect(readdirSync(here, { recursive: true }).filter((name) => String(name).endsWith(".part"))).toEqual(
      [],
    );
    // What is here is left alone.
    await downloadAll(farArtifacts(counting, far), files);
    expect(calls()).toBe(5);
  });

  it("are asked for again when they arrive damaged, and when they changed since they were listed", async () => {
    const { far, here, transport } = place();
    const contents = new Map([
      ["one", "first"],
      ["two", "second"],
      ["three", "third"],
    ]);
    const files = wanted(far, here, contents);
    appendFileSync(join(far, "three"), ", and more");
    const { transport: flipping, calls } = counted(transport, (chunk) =>
      Buffer.from(chunk.toString("latin1").replace("second", "sEcond"), "latin1"),
    );
    await downloadAll(farArtifacts(flipping, far), files);
    expect(["one", "two", "three"].map((name) => readFileSync(join(here, name), "utf8"))).toEqual([
      "first",
      "second",
      "third, and more",
    ]);
    expect(calls()).toBeGreaterThan(1);
  });

  it("name the one that is gone, and nothing outside of the run's folder", async () => {
    const { far, here, transport } = place();
    const files = wanted(far, here, new Map([["one", "1"]]));
    const gone = { path: "gone", bytes: 3, to: join(here, "gone") };
    await expect(downloadAll(farArtifacts(transport, far), [...files, gone])).rejects.toMatchObject({
      code: "ARTIFACT_MISSING",
      message: expect.stringContaining(join(far, "gone")),
    });
    const outside = { ...gone, path: "../outside" };
    await expect(downloadAll(farArtifacts(transport, far), [outside])).rejects.toMatchObject({
      code: "ARTIFACT_OUTSIDE",
    });
    expect(existsSync(join(here, "gone"))).toBe(false);
  });

  it("come one by one from a place that knows no better", async () => {
    const { far, here, transport } = place();
    const files = wanted(
      far,
      here,
      new Map([
        ["one", "1"],
        ["two", "22"],
      ]),
    );
    const store = farArtifacts(transport, far);
    const told: number[] = [];
    await downloadAll({ download: async (path, to) => store.download(path, to) }, files, {
      onFile: (done) => told.push(done),
    });
    expect(told).toEqual([1, 2]);
    expect(readFileSync(join(here, "two"), "utf8")).toBe("22");
  });
});

realSuite("many files over SSH", { programs: ["sshd", "ssh", "ssh-keygen"], root: true }, () => {
  it.each(["ssh2", "openssh"] as const)(
    "stay when the connection is killed between them, and the rest comes later: %s",
    async (kind) => {
      const bench = await sshBench(kind);
      clean.push(async () => bench.remove());
      const { far, here } = placeOn(bench);
      const transport = await openTransport(bench.endpoint, bench.access, world);
      clean.push(async () => transport.close());
      const contents = new Map(
        Array.from(
          { length: 200 },
          (_, index) => [`audio/${index}.wav`, Buffer.alloc(300_000, index)] as const,
        ),
      );
      const files = wanted(far, here, contents);
      const store = farArtifacts(transport, far);
      const fetching = downloadAll(store, files);
      const broken = expect(fetching).rejects.toMatchObject({ code: "TRANSPORT_CONNECTION_LOST" });
      const parts = (): number =>
        existsSync(join(here, "audio")) ? readdirSync(join(here, "audio")).length : 0;
      while (parts() < 5) await systemClock.sleep(1);
      bench.sshd.killConnections();
      await broken;
      const kept = readdirSync(join(here, "audio"));
      expect(kept.filter((name) => name.endsWith(".part"))).toEqual([]);
      expect(kept.length).toBeGreaterThan(2);
      const before = kept.map((name) => statSync(join(here, "audio", name)).ino);
      await downloadAll(store, files);
      expect(kept.map((name) => statSync(join(here, "audio", name)).ino)).toEqual(before);
      for (const [path, content] of contents) {
        expect(readFileSync(join(here, path)).equals(content), path).toBe(true);
      }
    },
    60_000,
  );
});
