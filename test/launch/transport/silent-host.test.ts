import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { LauncherProfile, openLauncher, type Check } from "../../../src/launch/index.ts";
import { impatiently } from "../../../src/launch/transport/access.ts";
import { temporaryFolder } from "../support.ts";

describe("a probe of a host", () => {
  const place = temporaryFolder();
  const folder = place.path;
  const sockets: Socket[] = [];
  // A frozen sshd: the kernel takes the connection, and nobody says a word.
  const server = createServer((socket) => sockets.push(socket));
  let port = 0;
  beforeAll(async () => {
    await new Promise<void>((ready) => {
      server.listen(0, "127.0.0.1", ready);
    });
    const address = server.address();
    port = typeof address === "object" && address !== null ? address.port : 0;
    writeFileSync(join(folder, "key"), "");
    writeFileSync(join(folder, "ssh_config"), "Host *\n  IdentityAgent none\n");
    writeFileSync(join(folder, "known_hosts"), "");
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
    place.remove();
  });

  const probe = async (settings: Readonly<Record<string, unknown>>): Promise<readonly Check[]> => {
    const paths = Object.fromEntries(["data", "models", "env", "runs"].map((name) => [name, `/far/${name}`]));
    const profile = LauncherProfile.parse({
      schemaVersion: 1,
      device: "cpu",
      paths,
      sshConfig: join(folder, "ssh_config"),
      knownHosts: join(folder, "known_hosts"),
      ...settings,
    });
    const payload = resolve(import.meta.dirname, "../../../launchers/payload");
    const environment = { ...process.env, HOME: folder };
    const launcher = await openLauncher(profile, { clock: systemClock, environment, payload });
    try {
      return await launcher.probe();
    } finally {
      await launcher.close();
    }
  };
  const kinds = (more: Readonly<Record<string, unknown>>) =>
    [
      { kind: "ssh", hosts: [{ host: "127.0.0.1", port, user: "me" }], ...more },
      { kind: "slurm", time: "1:00:00", login: { host: "127.0.0.1", port, user: "me" }, ...more },
    ] as const;

  it("waits ten seconds at most for one that takes the connection and says nothing", () => {
    expect(impatiently({ ...ACCESS, deadlineSeconds: 30 })).toMatchObject({
      connectSeconds: 10,
      deadlineSeconds: 30,
    });
    expect(impatiently({ ...ACCESS, deadlineSeconds: 2 })).toMatchObject({ connectSeconds: 2 });
  });

  it.each(["ssh2", "openssh"])("says how long it waited (%s)", { timeout: 60_000 }, async (transport) => {
    for (const settings of kinds({ transport, deadlineSeconds: 2 })) {
      expect(await probe(settings)).toEqual([
        expect.objectContaining({
          name: "connection",
          outcome: "failed",
          detail: expect.stringContaining(`127.0.0.1 port ${port} did not answer within 2 s`),
        }),
      ]);
    }
  });

  it("names a configuration that is not there, with its home folder", async () => {
    mkdirSync(join(folder, ".ssh"));
    for (const settings of kinds({ sshConfig: "~/.ssh/nothing" })) {
      expect(await probe(settings)).toEqual([
        {
          name: "connection",
          outcome: "failed",
          detail: `There is no file ${folder}/.ssh/nothing, which the profile names as sshConfig`,
          hint: expect.any(String),
        },
      ]);
    }
  });
});

const ACCESS = { transport: "auto" as const };
