import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { payloadDigest } from "../../src/workflow/payload-digest.ts";
import { snapshotPayload } from "../../src/workflow/payload-snapshot.ts";
import { makeStage, type Stage } from "./support.ts";

const below = (stage: Stage, path: string): string => join(stage.project.launchers, "payload", path);

const put = (stage: Stage, path: string, text = "x"): void => {
  mkdirSync(join(below(stage, path), ".."), { recursive: true });
  writeFileSync(below(stage, path), text);
};

describe("payloadDigest", () => {
  it.each([
    "tests/test_train.py",
    "understudy_payload/tests/test_events.py",
    "understudy_payload/__pycache__/main.cpython-311.pyc",
    "requirements-test.lock",
    "CONTRACT.md",
    ".pytest_cache/x.py",
  ])("does not count %s", async (path) => {
    const stage = await makeStage();
    const { payload } = await stage.shop();
    const before = await payloadDigest(payload);
    put(stage, path);
    expect(await payloadDigest(payload)).toBe(before);
  });

  it.each([
    "understudy_payload/more.py",
    "understudy_payload/deep/one.py",
    "requirements.lock",
    "wrapper.sh",
    "far/more.sh",
    "far/more.py",
  ])("counts %s, its name and its bytes", async (path) => {
    const stage = await makeStage();
    const { payload } = await stage.shop();
    const seen = new Set([await payloadDigest(payload)]);
    put(stage, path, "1");
    seen.add(await payloadDigest(payload));
    put(stage, path, "2");
    seen.add(await payloadDigest(payload));
    rmSync(below(stage, path));
    put(stage, path.replace(/(\.[a-z]+)$/, "2$1"), "2");
    seen.add(await payloadDigest(payload));
    expect(seen.size).toBe(path.endsWith("wrapper.sh") ? 3 + 1 : 4);
  });
});

describe("payloadDigest of the scripts", () => {
  it("counts the link of a chain, and nothing else that lies beside it", async () => {
    const stage = await makeStage();
    const { payload } = await stage.shop();
    const before = await payloadDigest(payload);
    put(stage, "lock.sh");
    put(stage, "far/README.md");
    expect(await payloadDigest(payload)).toBe(before);
    put(stage, "link.sh");
    expect(await payloadDigest(payload)).not.toBe(before);
  });
});

describe("snapshotPayload", () => {
  it("keeps the code under its digest, whatever is edited afterwards", async () => {
    const stage = await makeStage();
    const shop = await stage.shop();
    const first = await snapshotPayload(shop);
    expect(await payloadDigest(first.folder)).toBe(first.digest);
    const main = join(first.folder, "understudy_payload/__main__.py");
    const original = readFileSync(main, "utf8");
    appendFileSync(below(stage, "understudy_payload/__main__.py"), "# edited\n");
    const second = await snapshotPayload(shop);
    expect(second.digest).not.toBe(first.digest);
    expect(readFileSync(main, "utf8")).toBe(original);
    expect(await snapshotPayload(shop)).toEqual(second);
  });

  it("makes a copy that somebody edited anew", async () => {
    const stage = await makeStage();
    const shop = await stage.shop();
    const first = await snapshotPayload(shop);
    appendFileSync(join(first.folder, "understudy_payload/__main__.py"), "# edited\n");
    expect(await snapshotPayload(shop)).toEqual(first);
    expect(await payloadDigest(first.folder)).toBe(first.digest);
  });

  it("keeps the wrapper executable by sh, and copies made together are one", async () => {
    const stage = await makeStage();
    const shop = await stage.shop();
    const all = await Promise.all([snapshotPayload(shop), snapshotPayload(shop), snapshotPayload(shop)]);
    expect(new Set(all.map(({ folder }) => folder)).size).toBe(1);
    expect(readFileSync(join(all[0].folder, "wrapper.sh"), "utf8")).toBe(
      readFileSync(below(stage, "wrapper.sh"), "utf8"),
    );
  });
});
