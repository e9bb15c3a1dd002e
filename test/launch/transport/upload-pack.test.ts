import { randomBytes } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { sha256 } from "../../../src/core/hash.ts";
import type { JobInput } from "../../../src/launch/schema.ts";
import { ensureUploads, localTransport, type Transport } from "../../../src/launch/transport/index.ts";
import { temporaryFolder } from "../support.ts";

describe("many small files", () => {
  const folder = temporaryFolder();
  afterAll(() => folder.remove());
  let count = 0;
  const files = (many: number, bytes: (index: number) => number): readonly JobInput[] => {
    count += 1;
    return Array.from({ length: many }, (_, index) => {
      const source = join(folder.path, `here-${count}`, `${index} \\ file`);
      mkdirSync(dirname(source), { recursive: true });
      const content = randomBytes(bytes(index));
      writeFileSync(source, content);
      const path = join(folder.path, `there-${count}`, `part ${index % 3}`, `${index} \\ file`);
      return { role: "payload", path, source, bytes: content.length, sha256: sha256(content) };
    });
  };
  /** Counts commands; `damage` changes what the first stream brings. */
  const far = (damage?: (bytes: Buffer) => Buffer): { transport: Transport; commands: () => number } => {
    const { PATH, HOME } = process.env;
    const real = localTransport({ clock: systemClock, environment: { PATH, HOME } });
    let commands = 0;
    let isDamaged = damage === undefined;
    const exec: Transport["exec"] = async (argv, options = {}) => {
      commands += 1;
      const { stdin } = options;
      if (isDamaged || damage === undefined || !(stdin instanceof Readable)) return real.exec(argv, options);
      isDamaged = true;
      const chunks: Buffer[] = [];
      for await (const chunk of stdin) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
      return real.exec(argv, { ...options, stdin: Readable.from([damage(Buffer.concat(chunks))]) });
    };
    return { transport: { ...real, exec }, commands: () => commands };
  };
  const left = (inputs: readonly JobInput[]): readonly string[] =>
    readdirSync(join(folder.path, `there-${count}`), { recursive: true, encoding: "utf8" }).filter(
      (name) => !/^part \d(\/\d+ \\ file)?$/.test(name) && inputs.length > 0,
    );
  const arrive = (inputs: readonly JobInput[]): void => {
    for (const { path, sha256: digest } of inputs) expect(sha256(readFileSync(path))).toBe(digest);
    expect(left(inputs)).toEqual([]);
  };

  it("go in one command, beside the large ones, with the modes of the umask", async () => {
    const inputs = files(60, (index) => (index === 7 ? 0 : index === 11 ? 3_000_000 : index * 500));
    const { transport, commands } = far();
    const total = inputs.reduce((sum, { bytes }) => sum + bytes, 0);
    let told = 0;
    const onProgress = ({ bytes }: { readonly bytes: number }): void => {
      told = bytes;
    };
    expect(await ensureUploads(transport, inputs, { umask: "0027", onProgress })).toEqual({
      sent: 60,
      bytes: total,
    });
    expect(told).toBe(total);
    // What is missing, the pack, and the large one.
    expect(commands()).toBe(3);
    arrive(inputs);
    for (const { path } of inputs) expect(statSync(path).mode & 0o777).toBe(0o640);
  });

  it("are split when there are very many", async () => {
    const inputs = files(210, () => 10);
    const { transport, commands } = far();
    await ensureUploads(transport, inputs, { umask: "0022" });
    expect(commands()).toBe(3);
    arrive(inputs);
  });

  it.each([
    ["is cut off", (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
    [
      "is another one",
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, 5000), randomBytes(10), bytes.subarray(5010)]),
    ],
  ])("arrive all the same when the stream %s, and leave nothing behind", async (_how, damage) => {
    const inputs = files(12, () => 2000);
    await ensureUploads(far(damage).transport, inputs, { umask: "0022" });
    arrive(inputs);
  });

  it("are not named when one of them has changed here", async () => {
    const inputs = files(5, () => 100);
    writeFileSync(inputs[3]?.source ?? "", randomBytes(100));
    await expect(ensureUploads(far().transport, inputs, { umask: "0022" })).rejects.toMatchObject({
      code: "INPUT_CHANGED",
      message: expect.stringContaining("3 \\ file"),
    });
  });
});
