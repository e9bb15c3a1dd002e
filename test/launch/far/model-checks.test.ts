import { mkdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkFar } from "../../../src/launch/far/index.ts";
import type { Check, JobInput } from "../../../src/launch/index.ts";
import { farJob, here, sshProfile, temporaryFolder, world } from "./support.ts";

const REVISION = "ae9e1690543ffd5c0221dc27f79834d0294cba00";
const OTHER = "0123456789012345678901234567890123456789";

/** Weights of two parts, as `hf download --local-dir` leaves them. */
const weights = (folder: string): void => {
  mkdirSync(join(folder, ".cache/huggingface/download"), { recursive: true });
  writeFileSync(join(folder, "config.json"), "{}");
  const names = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
  for (const name of names) writeFileSync(join(folder, name), "x".repeat(1000));
  const index = {
    metadata: { total_size: 1900 },
    weight_map: { "a.weight": names[0], "b.weight": names[1], "c.weight": names[1] },
  };
  writeFileSync(join(folder, "model.safetensors.index.json"), JSON.stringify(index, null, 2));
};
const note = (folder: string, file: string, commit: string): void =>
  writeFileSync(
    join(folder, ".cache/huggingface/download", `${file}.metadata`),
    `${commit}\n"etag"\n1700000000.0\n`,
  );

describe("weights that lie on the far side, without a copy here", () => {
  const at = temporaryFolder().path;
  const folder = join(at, `Qwen--Qwen2.5-Omni-7B@${REVISION}`);
  const paths = { data: `${at}/data`, models: at, env: `${at}/env`, runs: `${at}/runs`, tmp: "/tmp" };
  const profile = sshProfile({ paths, device: "cpu", stage: { model: "existing", data: "existing" } });
  const manifest = {
    schemaVersion: 1,
    model: { path: folder, revision: `Qwen/Qwen2.5-Omni-7B@${REVISION}` },
  };
  const look = async (inputs: readonly JobInput[] = []): Promise<readonly Check[]> =>
    (await checkFar(here(), farJob({ profile, manifest, inputs }), profile, world)).filter(
      ({ name }) => name === "model",
    );
  const failed = (detail: RegExp): unknown => [
    {
      name: "model",
      outcome: "failed",
      detail: expect.stringMatching(detail),
      hint: expect.stringContaining(`hf download Qwen/Qwen2.5-Omni-7B --revision ${REVISION}`),
    },
  ];

  it("are asked for, file by file, and refused when they are not all there", async () => {
    expect(await look()).toEqual(failed(/^there is no folder /));
    mkdirSync(folder, { recursive: true });
    expect(await look()).toEqual(failed(/is not complete: there is no config\.json$/));
    writeFileSync(join(folder, "config.json"), "{}");
    expect(await look()).toEqual(failed(/there are no weights/));
    weights(folder);
    rmSync(join(folder, "model-00002-of-00002.safetensors"));
    expect(await look()).toEqual(
      failed(/its index names model-00002-of-00002\.safetensors, which is not there$/),
    );
    weights(folder);
    truncateSync(join(folder, "model-00001-of-00002.safetensors"), 500);
    expect(await look()).toEqual(failed(/its weights have 1500 bytes, and 1900 by their index$/));
    weights(folder);
    writeFileSync(join(folder, "other.safetensors.part"), "half");
    expect(await look()).toEqual(failed(/other\.safetensors\.part is a download that was not finished$/));
    rmSync(join(folder, "other.safetensors.part"));
  });

  it("are of the pinned revision by the note that a download has left, or that is said to be open", async () => {
    weights(folder);
    expect(await look()).toMatchObject([
      { outcome: "warning", detail: expect.stringMatching(/^4 files .*said by the folder's name alone$/) },
    ]);
    note(folder, "config.json", REVISION);
    expect(await look()).toMatchObject([{ outcome: "ok", detail: expect.stringContaining(REVISION) }]);
    note(folder, "model-00001-of-00002.safetensors", OTHER);
    expect(await look()).toEqual(
      failed(new RegExp(`holds files of revision ${OTHER}; the recipe asks for ${REVISION}$`)),
    );
    rmSync(join(folder, ".cache"), { recursive: true });
    const record = { schemaVersion: 1, repository: "Qwen/Qwen2.5-Omni-7B", revision: OTHER, files: [] };
    writeFileSync(join(folder, ".understudy-download.json"), JSON.stringify(record));
    expect(await look()).toEqual(failed(new RegExp(`holds files of revision ${OTHER}`)));
  });

  it("are compared by their digests instead, where those are known", async () => {
    const path = join(folder, "config.json");
    const input: JobInput = { role: "model", path, source: null, bytes: 2, sha256: "0".repeat(64) };
    expect(await look([input])).toMatchObject([
      { outcome: "ok", detail: expect.stringContaining("hashes 1 file") },
    ]);
  });
});
