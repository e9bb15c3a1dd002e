import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { sha256, sha256File } from "../../../src/core/hash.ts";
import type { JobInput } from "../../../src/launch/schema.ts";
import { downloadFar, ensureUploads, openTransport } from "../../../src/launch/transport/index.ts";
import { makeNamespace } from "../../real/netns.ts";
import { realSuite } from "../../support/real-suite.ts";
import { compile } from "../compile.ts";
import { placeOn, sshBench, world, type SshBench } from "./ssh-bench.ts";

const WAYS = { umask: "0022" };
const BYTES = 80 * 1024 * 1024;
const clean: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const step of clean.splice(0).toReversed()) await step();
});

async function setUp(kind: "ssh2" | "openssh", options: Parameters<typeof sshBench>[1] = {}) {
  const bench = await sshBench(kind, options);
  clean.push(async () => bench.remove());
  const { far, here } = placeOn(bench);
  const source = join(here, "shard");
  writeFileSync(source, "start");
  // Without disk space, but not the same everywhere.
  truncateSync(source, BYTES);
  const transport = await openTransport(bench.endpoint, bench.access, world);
  clean.push(async () => transport.close());
  const input: JobInput = {
    role: "data",
    path: join(far, "data/shard"),
    source,
    bytes: BYTES,
    sha256: await sha256File(source),
  };
  return { bench, far, here, transport, input };
}

const partBytes = ({ path }: JobInput): number =>
  existsSync(`${path}.part`) ? statSync(`${path}.part`).size : 0;

async function untilPartGrows(input: JobInput): Promise<void> {
  const least = partBytes(input) + 4_000_000;
  while (partBytes(input) < least) await wait(2);
}

const programs = ["sshd", "ssh", "ssh-keygen", "ip", "nsenter"];

realSuite("uploads that break off", { programs, root: true }, () => {
  for (const kind of ["ssh2", "openssh"] as const) {
    describe(kind, () => {
      it("goes on after its connection was killed", async () => {
        const { bench, transport, input } = await setUp(kind);
        const sending = ensureUploads(transport, [input], WAYS);
        const broken = expect(sending).rejects.toMatchObject({ code: "TRANSPORT_CONNECTION_LOST" });
        await untilPartGrows(input);
        bench.sshd.killConnections();
        await broken;
        expect(existsSync(input.path)).toBe(false);
        const { bytes } = await ensureUploads(transport, [input], WAYS);
        expect(bytes).toBeLessThan(BYTES - 4_000_000 + 1);
        expect(await sha256File(input.path)).toBe(input.sha256);
      }, 60_000);

      it("goes on after its link was cut", async () => {
        const namespace = makeNamespace();
        clean.push(() => namespace.remove());
        const { transport, input } = await setUp(kind, {
          address: namespace.address,
          prefix: namespace.prefix,
        });
        const sending = ensureUploads(transport, [input], WAYS);
        const broken = expect(sending).rejects.toMatchObject({ code: "TRANSPORT_CONNECTION_LOST" });
        await untilPartGrows(input);
        namespace.cut();
        await broken;
        namespace.mend();
        const { bytes } = await ensureUploads(transport, [input], WAYS);
        expect(bytes).toBeLessThan(BYTES - 4_000_000 + 1);
        expect(await sha256File(input.path)).toBe(input.sha256);
      }, 120_000);

      it("goes on after its controller was killed", async () => {
        const { bench, here, transport, input } = await setUp(kind);
        const child = controller({ bench, here, input });
        await untilPartGrows(input);
        child.kill("SIGKILL");
        await new Promise((resolve) => child.once("exit", resolve));
        expect(existsSync(input.path)).toBe(false);
        const { bytes } = await ensureUploads(transport, [input], WAYS);
        expect(bytes).toBeLessThan(BYTES - 4_000_000 + 1);
        expect(await sha256File(input.path)).toBe(input.sha256);
      }, 60_000);
    });
  }

  it("sends much over the program and little over the library (auto)", async () => {
    const { bench, far, here, transport: library, input } = await setUp("ssh2");
    await library.exec(["true"]);
    const transport = await openTransport(bench.endpoint, { ...bench.access, transport: "auto" }, world);
    clean.push(async () => transport.close());
    expect(transport.name).toMatch(/\(ssh2\)$/);
    const logins = (): number => {
      const log = readFileSync(join(bench.folder, `sshd-${bench.sshd.port}.log`), "utf8");
      return log.match(/Accepted publickey/g)?.length ?? 0;
    };
    const before = logins();
    writeFileSync(join(here, "little"), "few bytes");
    const little = { ...input, path: join(far, "little"), source: join(here, "little"), bytes: 9 };
    await ensureUploads(transport, [{ ...little, sha256: sha256("few bytes") }], WAYS);
    expect(logins() - before).toBe(1);
    await ensureUploads(transport, [input], WAYS);
    expect(logins() - before).toBe(2);
    expect(await sha256File(input.path)).toBe(input.sha256);
  }, 60_000);

  it("downloads the rest after its connection was killed", async () => {
    const { bench, far, here, transport } = await setUp("ssh2");
    const bytes = Buffer.alloc(60_000_000, "download");
    writeFileSync(join(far, "checkpoint"), bytes);
    const to = join(here, "checkpoint");
    const fetching = downloadFar(transport, join(far, "checkpoint"), to);
    const broken = expect(fetching).rejects.toMatchObject({ code: "TRANSPORT_CONNECTION_LOST" });
    while (!existsSync(`${to}.part`) || statSync(`${to}.part`).size < 4_000_000) await wait(2);
    bench.sshd.killConnections();
    await broken;
    const before = statSync(`${to}.part`).ino;
    await downloadFar(transport, join(far, "checkpoint"), to);
    expect(statSync(to).ino).toBe(before);
    expect(sha256(readFileSync(to))).toBe(sha256(bytes));
  }, 60_000);
});

// A process of its own that sends the same file.
function controller({ bench, here, input }: { bench: SshBench; here: string; input: JobInput }) {
  const folder = join(here, "controller");
  mkdirSync(folder);
  const compiled = compile(folder, ["launch/transport/index.ts", "core/clock.ts"]);
  const script = `
    import { ensureUploads, openTransport } from "${compiled}/launch/transport/index.js";
    import { systemClock } from "${compiled}/core/clock.js";
    const [endpoint, access, input] = process.argv.slice(2).map((text) => JSON.parse(text));
    const transport = await openTransport(endpoint, access, { clock: systemClock, environment: process.env });
    await ensureUploads(transport, [input], { umask: "0022" });
    await transport.close();
  `;
  writeFileSync(join(folder, "controller.mjs"), script);
  const values = [bench.endpoint, bench.access, input].map((value) => JSON.stringify(value));
  return spawn(process.execPath, [join(folder, "controller.mjs"), ...values], {
    stdio: ["ignore", "ignore", "inherit"],
  });
}
