import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import ssh2 from "ssh2";
import { describe, expect, it, onTestFinished } from "vitest";
import { openTransport } from "../../../src/launch/transport/index.ts";
import { temporaryFolder } from "../support.ts";
import { world } from "./ssh-bench.ts";

const { Server, utils } = ssh2;

/** A server whose shells end before their start has been answered: all of it is one piece of the stream. */
const hasty = async (): Promise<{
  readonly port: number;
  readonly key: string;
  readonly knownHosts: string;
}> => {
  const host = utils.generateKeyPairSync("ed25519");
  const server = new Server({ hostKeys: [host.private] }, (client) => {
    client.on("error", () => undefined);
    client.on("authentication", (asked) => asked.accept());
    client.on("session", (accept) => {
      accept().on("exec", (take) => {
        const stream = take();
        stream.stderr.write("This account is closed.\n");
        stream.exit(1);
        stream.end();
      });
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const folder = temporaryFolder().path;
  const [key, knownHosts] = [join(folder, "key"), join(folder, "known_hosts")];
  writeFileSync(key, utils.generateKeyPairSync("ed25519").private);
  chmodSync(key, 0o600);
  writeFileSync(knownHosts, `[127.0.0.1]:${port} ${host.public}\n`);
  return { port, key, knownHosts };
};

describe("a shell that ends while its start is being answered (ssh2)", () => {
  it("has refused, and is no lost connection", async () => {
    const { port, key, knownHosts } = await hasty();
    const transport = await openTransport(
      { host: "127.0.0.1", port, user: "me", identityFile: key, jump: [] },
      { transport: "ssh2", knownHosts, deadlineSeconds: 20 },
      world,
    );
    onTestFinished(async () => transport.close());
    expect(await transport.exec(["true"])).toMatchObject({
      kind: "transport-error",
      started: "no",
      code: "CHANNEL_REFUSED",
      reason: expect.stringContaining("This account is closed."),
    });
  });
});
