import { existsSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { LAB_PROGRAMS, startLab } from "../../real/slurm/lab.ts";
import { realSuite } from "../../support/real-suite.ts";
import { slurmBench, type SlurmRef } from "./slurm-bench.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 120_000 });

realSuite("the connection to a login node", { programs: LAB_PROGRAMS, root: true }, () => {
  it("is lost while sbatch runs: ambiguous, settled by the marker, one job", async () => {
    const lab = await startLab();
    const link = await relay(lab.ssh.port);
    const { identityFile } = lab.ssh;
    const login = { host: "127.0.0.1", user: "understudy-lab", port: link.port, identityFile };
    // The same host key under the relay's port.
    lab.run([
      "sh",
      "-c",
      `sed 's/]:[0-9]*/]:${link.port}/' ${lab.ssh.knownHosts} >>${lab.ssh.knownHosts}.more`,
    ]);
    const bench = await slurmBench(lab, {
      login: true,
      profile: { login, knownHosts: `${lab.ssh.knownHosts}.more` },
    });
    try {
      const job = bench.job([["wait", "go"]]);
      const plan = bench.plan(job);
      const record = join(plan.cwd, "submission/link-1");
      // sbatch waits for the controller; meanwhile the way back is closed, and cut when the job is accepted.
      const submitting = bench.launcher.submit(plan);
      lab.pause("slurmctld");
      await until(() => existsSync(record));
      link.hold();
      lab.resume("slurmctld");
      await until(() => existsSync(join(record, "code")));
      link.cut();
      expect((await submitting).outcome).toBe("ambiguous");
      const found = await bench.launcher.find(plan);
      const ref = found.outcome === "found" ? found.refs[0] : undefined;
      if (ref?.kind !== "slurm") throw new Error(JSON.stringify(found));
      await bench.running(ref);
      expect((await bench.launcher.submit(plan)).outcome).toBe("ambiguous");
      expect(lab.run(["squeue", "-h", "-t", "all", `--name=${ref.marker}`, "-o", "%i"]).trim()).toBe(
        idOf(ref),
      );
      // Cut in the middle of its life: nothing is said, then all is as it was.
      link.refuse(true);
      link.cut();
      await bench.seen(ref, ({ phase }) => phase === "unavailable");
      link.refuse(false);
      await bench.running(ref);
      bench.touch(job, "go");
      expect((await bench.ended(ref)).result?.exitCode).toBe(0);
    } finally {
      await bench.launcher.close();
      link.close();
      await lab.close();
    }
  });
});

const idOf = ({ jobs }: SlurmRef): string | undefined => jobs[0]?.id;

async function until(isIt: () => boolean): Promise<void> {
  for (let tries = 0; tries < 3000; tries++) {
    if (isIt()) return;
    await systemClock.sleep(10);
  }
  throw new Error("it never happened");
}

interface Relay {
  readonly port: number;
  /** Nothing more comes back from the server. */
  hold(): void;
  /** All connections are broken. */
  cut(): void;
  refuse(whether: boolean): void;
  close(): void;
}

/** A TCP relay in front of sshd that can be cut: the link to a login node. */
async function relay(to: number): Promise<Relay> {
  const sockets = new Set<Socket>();
  const backs = new Set<Socket>();
  let isRefusing = false;
  const server: Server = createServer((front) => {
    if (isRefusing) {
      front.destroy();
      return;
    }
    const back = connect(to, "127.0.0.1");
    for (const socket of [front, back]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        front.destroy();
        back.destroy();
        sockets.delete(socket);
      });
    }
    backs.add(back);
    front.pipe(back);
    back.pipe(front);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    port: address.port,
    hold: () => {
      for (const back of backs) back.unpipe().pause();
    },
    cut: () => {
      for (const socket of sockets) socket.destroy();
      backs.clear();
    },
    refuse: (whether) => {
      isRefusing = whether;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
