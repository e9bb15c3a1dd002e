import { appendFileSync, copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { LAB_USER, startLab, type SlurmLab } from "../real/slurm/lab.ts";
import { makeFarStage, profile } from "./start-support.ts";
import type { Stage } from "./support.ts";

export interface Cluster {
  readonly stage: Stage;
  readonly lab: SlurmLab;
  readonly folder: string;
}

/** A stage with a profile `cluster`: a real Slurm behind a login node. */
export const makeCluster = async (): Promise<Cluster> => {
  const { stage } = await makeFarStage();
  const lab = await startLab();
  onTestFinished(async () => lab.close());
  const { port, identityFile, knownHosts } = lab.ssh;
  const folder = lab.home;
  writeFileSync(join(lab.folder, "ssh_config"), "Host *\n  IdentityAgent none\n");
  const paths = ["data", "models", "env", "runs"].map((name) => `${name}: ${join(folder, name)}`);
  profile(
    stage,
    "cluster",
    `kind: slurm\nlogin: { host: 127.0.0.1, port: ${port}, user: ${LAB_USER}, identityFile: ${identityFile} }\n` +
      `knownHosts: ${knownHosts}\nsshConfig: ${join(lab.folder, "ssh_config")}\naccount: ml\n` +
      'time: "10:00"\nsignalSeconds: 60\ngraceSeconds: 30\npollSeconds: 1\nchain: 2\n' +
      `device: cpu\nprocesses: 1\npython: /usr/bin/python3\npaths: { ${paths.join(", ")} }\n`,
  );
  // The stand-in's behaviour lies in its HOME.
  const home = join(folder, "stand-in");
  lab.run(["mkdir", home], "user");
  appendFileSync(join(stage.project.launchers, "cluster.yaml"), `setup: [ "export HOME=${home}" ]\n`);
  copyFileSync(join(stage.home, "instances.json"), join(home, "instances.json"));
  return { stage, lab, folder };
};
