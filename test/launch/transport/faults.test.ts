import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { makeNamespace } from "../../real/netns.ts";
import { freePort, startSshd } from "../../real/sshd/sshd.ts";
import { realSuite } from "../../support/real-suite.ts";
import { bench, clean, KINDS, open, sshdLog, wordsOf } from "./fault-bench.ts";
import { removeFolder } from "../../support/remove-folder.ts";

const programs = ["sshd", "ssh", "ssh-keygen", "ip", "nsenter"];

realSuite("SSH when things go wrong", { programs, root: true }, () => {
  for (const kind of KINDS) {
    describe(kind, () => {
      it("goes through a jump host, whose key is checked too", async () => {
        const made = await bench(kind);
        const folder = mkdtempSync("/tmp/understudy-jump-");
        const jump = await startSshd(folder);
        clean.push(async () => {
          await jump.stop();
          removeFolder(folder);
        });
        writeFileSync(join(folder, "authorized_keys"), readFileSync(`${made.sshd.key}.pub`));
        const through = { endpoint: { jump: [`understudy-test@127.0.0.1:${jump.port}`] } };
        const unknown = await (await open(made, through)).exec(["true"]);
        expect(unknown).toMatchObject({ started: "no", code: "HOST_KEY_UNKNOWN" });
        expect(wordsOf(unknown)).toContain(`[127.0.0.1]:${jump.port}`);
        writeFileSync(join(made.folder, "known_hosts"), made.sshd.knownHosts + jump.knownHosts);
        const transport = await open(made, through);
        expect(await transport.exec(["sh", "-c", "exit 7"])).toMatchObject({ kind: "exited", code: 7 });
        expect(sshdLog(folder, jump.port)).toContain("Accepted publickey");
        // The jump host goes away under it.
        const running = transport.exec(["sleep", "30"]);
        await wait(1500);
        jump.killConnections();
        expect(await running).toMatchObject({ code: "CONNECTION_LOST", started: "unknown" });
        expect(await transport.exec(["true"])).toMatchObject({ kind: "exited", code: 0 });
      });

      it("waits for a free session where a host allows only two", async () => {
        const made = await bench(kind, { config: ["MaxSessions 2"] });
        const transport = await open(made);
        const outcomes = await Promise.all(
          Array.from({ length: 8 }, async (_, index) =>
            transport.exec(["sh", "-c", `sleep 0.3; exit ${index}`]),
          ),
        );
        expect(outcomes.map((outcome) => (outcome.kind === "exited" ? outcome.code : outcome))).toEqual([
          0, 1, 2, 3, 4, 5, 6, 7,
        ]);
      });

      it("says that nothing was started when no session becomes free in time", async () => {
        const made = await bench(kind, { config: ["MaxSessions 1"] });
        const transport = await open(made);
        const long = transport.exec(["sleep", "6"]);
        await wait(1000);
        const outcome = await transport.exec(["touch", join(made.folder, "started")], { deadline: 2000 });
        expect(outcome).toMatchObject({ kind: "transport-error", started: "no" });
        expect(await long).toMatchObject({ kind: "exited", code: 0 });
      });

      it("opens one connection for many callers", async () => {
        const made = await bench(kind);
        const transport = await open(made);
        await Promise.all(Array.from({ length: 8 }, async () => transport.exec(["true"])));
        expect(sshdLog(made.folder, made.sshd.port).match(/Accepted publickey/g)).toHaveLength(1);
      });

      it("does not know what became of a command whose connection was killed, and connects again", async () => {
        const made = await bench(kind);
        const transport = await open(made);
        const running = transport.exec(["sh", "-c", "echo; sleep 30"], {
          onStdout: async () => made.sshd.killConnections(),
        });
        expect(await running).toMatchObject({ started: "unknown", code: "CONNECTION_LOST" });
        expect(await transport.exec(["echo", "again"])).toMatchObject({ kind: "exited", code: 0 });
        // And once more while nothing runs: nobody notices but by the second login.
        made.sshd.killConnections();
        expect(await transport.exec(["echo", "again"])).toMatchObject({ kind: "exited", code: 0 });
      });

      it("says unreachable while sshd is down, and goes on when it is back", async () => {
        const made = await bench(kind);
        const transport = await open(made);
        await transport.exec(["true"]);
        await made.sshd.stop();
        expect(await transport.exec(["true"])).toMatchObject({ started: "no", code: "UNREACHABLE" });
        const again = await startSshd(made.folder, { port: made.sshd.port });
        clean.push(async () => again.stop());
        expect(await transport.exec(["true"])).toMatchObject({ kind: "exited", code: 0 });
      });

      it("gives up a peer that accepts and says nothing, at the deadline of the call or of connecting", async () => {
        const made = await bench(kind);
        const port = await freePort();
        const server = createServer(() => undefined).listen(port, "127.0.0.1");
        clean.push(() => void server.close());
        const transport = await open(made, { endpoint: { port }, access: { deadlineSeconds: 3 } });
        expect(await transport.exec(["true"], { deadline: 500 })).toMatchObject({
          started: "no",
          code: "DEADLINE",
        });
        const patient = await transport.exec(["true"], { deadline: 20_000 });
        expect(patient).toMatchObject({ started: "no", code: "UNREACHABLE" });
      });

      it("says that nothing was started where the account has no shell", async () => {
        const made = await bench(kind, { config: ["ForceCommand echo This account is closed.; exit 1"] });
        const outcome = await (await open(made)).exec(["true"]);
        expect(outcome).toMatchObject({ started: "no", code: "CHANNEL_REFUSED" });
        expect(wordsOf(outcome)).toContain("This account is closed.");
      });

      it("notices a link that was cut under a command, and works again when it is mended", async () => {
        const namespace = makeNamespace();
        clean.push(() => namespace.remove());
        const made = await bench(kind, { address: namespace.address, prefix: namespace.prefix });
        const transport = await open(made);
        const running = transport.exec(["sh", "-c", "echo; sleep 120"], {
          deadline: 100_000,
          onStdout: async () => namespace.cut(),
        });
        expect(await running).toMatchObject({ started: "unknown", code: "CONNECTION_LOST" });
        const cutOff = await transport.exec(["true"], { deadline: 10_000 });
        expect(cutOff).toMatchObject({ kind: "transport-error", started: "no" });
        namespace.mend();
        await expect
          .poll(async () => (await transport.exec(["true"], { deadline: 5000 })).kind, { timeout: 30_000 })
          .toBe("exited");
      }, 90_000);
    });
  }

  it("replaces the socket of a shared connection that was killed (openssh)", async () => {
    const made = await bench("openssh");
    const transport = await open(made);
    await transport.exec(["true"]);
    const rows = execFileSync("ps", ["-eo", "pid=,args="], { encoding: "utf8" }).split("\n");
    const masters = rows.filter(
      (row) => row.includes("ControlMaster=yes") && row.includes(`-p ${made.sshd.port} `),
    );
    expect(masters).toHaveLength(1);
    process.kill(Number(masters[0]?.trim().split(" ")[0]), "SIGKILL");
    expect(await transport.exec(["true"])).toMatchObject({ kind: "exited", code: 0 });
  });

  it("uses a connection that the person has opened, and leaves it open (openssh)", async () => {
    const made = await bench("openssh");
    const config = join(made.folder, "ssh_config");
    writeFileSync(config, `Host *\n  IdentityAgent none\n  ControlPath ${made.folder}/theirs\n`);
    const login = [
      ["-F", config, "-o", `UserKnownHostsFile=${made.folder}/known_hosts`, "-i", made.sshd.key],
      ["-p", String(made.sshd.port), "-l", "understudy-test"],
    ].flat();
    execFileSync("ssh", [...login, "-M", "-N", "-f", "127.0.0.1"], { stdio: "ignore" });
    const transport = await open(made, { access: { transport: "auto" } });
    expect(transport.name).toContain("openssh");
    expect(await transport.exec(["true"])).toMatchObject({ kind: "exited", code: 0 });
    expect(sshdLog(made.folder, made.sshd.port).match(/Accepted publickey/g)).toHaveLength(1);
    await transport.close();
    const control = (command: string): number | null =>
      spawnSync("ssh", [...login, "-O", command, "127.0.0.1"], { stdio: "ignore" }).status;
    expect(control("check")).toBe(0);
    control("exit");
  });
});
