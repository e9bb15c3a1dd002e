import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { localTransport, openTransport } from "../../../src/launch/transport/index.ts";
import { realSuite } from "../../support/real-suite.ts";
import { farFileCases, type FarPlace } from "./far-cases.ts";
import { placeOn, sshBench, world } from "./ssh-bench.ts";
import { uploadCases } from "./upload-cases.ts";
import { removeFolder } from "../../support/remove-folder.ts";

const clean: (() => Promise<void> | void)[] = [];
afterAll(async () => {
  for (const step of clean) await step();
});

const here = async (): Promise<FarPlace> => {
  const folder = mkdtempSync(join(tmpdir(), "understudy-far-"));
  clean.push(() => removeFolder(folder));
  for (const name of ["far", "here"]) mkdirSync(join(folder, name));
  return { transport: localTransport(world), far: join(folder, "far"), here: join(folder, "here") };
};

const there = (kind: "ssh2" | "openssh") => async (): Promise<FarPlace> => {
  const bench = await sshBench(kind);
  clean.push(async () => bench.remove());
  return { transport: await openTransport(bench.endpoint, bench.access, world), ...placeOn(bench) };
};

farFileCases("this machine", here);
uploadCases("this machine", here);

realSuite("files over SSH", { programs: ["sshd", "ssh", "ssh-keygen"], root: true }, () => {
  for (const kind of ["ssh2", "openssh"] as const) {
    farFileCases(kind, there(kind));
    uploadCases(kind, there(kind));
  }
});
