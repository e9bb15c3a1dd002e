import { afterAll } from "vitest";
import { openTransport } from "../../../src/launch/transport/index.ts";
import { transportContract } from "../../contract/transport.ts";
import { realSuite } from "../../support/real-suite.ts";
import { sshBench, world, type SshBench } from "./ssh-bench.ts";

realSuite("OpenSSH against a real sshd", { programs: ["sshd", "ssh", "ssh-keygen"], root: true }, () => {
  const benches: SshBench[] = [];
  afterAll(async () => {
    for (const bench of benches) await bench.remove();
  });
  transportContract("openssh", async () => {
    const bench = await sshBench("openssh");
    benches.push(bench);
    return openTransport(bench.endpoint, bench.access, world);
  });
});
