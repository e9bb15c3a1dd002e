import { createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock, type Clock } from "../../../src/core/clock.ts";
import { sagemakerLauncher } from "../../../src/launch/sagemaker/launcher.ts";
import { secretsFrom } from "../../../src/core/secrets.ts";
import { profileWith } from "./support.ts";

describe("a probe of a service that takes connections and says nothing", () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket));
  let endpoint = "";
  beforeAll(async () => {
    await new Promise<void>((ready) => {
      server.listen(0, "127.0.0.1", ready);
    });
    const address = server.address();
    endpoint = typeof address === "object" && address !== null ? `http://127.0.0.1:${address.port}` : "";
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it("is given up as a whole", async () => {
    const asked: number[] = [];
    const clock: Clock = {
      now: () => systemClock.now(),
      sleep: async (milliseconds, signal) => {
        asked.push(milliseconds);
        await systemClock.sleep(500, signal);
      },
    };
    const environment = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "bbbbbbbb" };
    const launcher = sagemakerLauncher(profileWith({ endpoint }), {
      clock,
      environment,
      payload: "/payload",
      secrets: secretsFrom(environment),
      wrapper: "",
      cores: 2,
    });
    expect(await launcher.probe()).toEqual([
      {
        name: "credentials",
        outcome: "failed",
        detail: "the service did not answer in 20 s",
        hint: expect.stringContaining("reached from here"),
      },
    ]);
    // For all questions together.
    expect(asked).toEqual([20_000]);
    await launcher.close();
  });
});
