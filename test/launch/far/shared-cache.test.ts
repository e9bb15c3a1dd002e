import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { sha256 } from "../../../src/core/hash.ts";
import { realSuite } from "../../support/real-suite.ts";
import { payload } from "./support.ts";
import { removeFolder } from "../../support/remove-folder.ts";

const NOBODY = 65_534;
const TEXT = '{"model_type":"tiny"}';

realSuite("a cache that somebody else has filled", { programs: ["python3"], root: true }, () => {
  const stage = (): {
    readonly model: string;
    readonly events: string;
    readonly fetch: () => { readonly code: number | null; readonly out: string };
  } => {
    const at = mkdtempSync(join(tmpdir(), "understudy-cache-"));
    onTestFinished(() => removeFolder(at));
    chmodSync(at, 0o755);
    cpSync(join(payload, "far"), join(at, "far"), { recursive: true });
    const [model, run] = [join(at, "model"), join(at, "run")];
    mkdirSync(model);
    mkdirSync(run);
    chmodSync(run, 0o777);
    const events = join(run, "events.jsonl");
    const python = existsSync("/usr/bin/python3") ? "/usr/bin/python3" : "python3";
    const file = [String(TEXT.length), sha256(TEXT), join(model, "config.json")];
    const words = ["--repository", "lab/model", "--revision", "rev1", "--folder", model, "--events", events];
    return {
      model,
      events,
      fetch: () => {
        const done = spawnSync(
          python,
          [join(at, "far/download.py"), ...words, "--file", ...file, "--", "/bin/sh", "-c", "echo job runs"],
          {
            uid: NOBODY,
            gid: NOBODY,
            encoding: "utf8",
            // Nobody answers there, and nobody is to be asked.
            env: {
              PATH: process.env["PATH"],
              HF_ENDPOINT: "http://127.0.0.1:9",
              UNDERSTUDY_HUB_PAUSE: "0.001",
            },
          },
        );
        return { code: done.status, out: done.stdout + done.stderr };
      },
    };
  };

  it("serves a job that may only read it, when everything is there", () => {
    const { model, fetch } = stage();
    writeFileSync(join(model, "config.json"), TEXT);
    const { code, out } = fetch();
    expect(code, out).toBe(0);
    expect(out).toContain("job runs");
  });

  it("is refused for good, naming what to agree on, when something is missing: no machine is to blame", () => {
    const { events, fetch } = stage();
    const { code, out } = fetch();
    expect(code, out).toBe(2);
    expect(out).not.toContain("job runs");
    expect(JSON.parse(readFileSync(events, "utf8"))).toMatchObject({
      type: "failed",
      code: "MODEL_NOT_WRITABLE",
      hint: expect.stringContaining("umask and group"),
    });
  });
});
