import { describe, expect, it } from "vitest";
import type { FaultRule } from "../../support/fake-hub/faults.ts";
import { addCommit, storeBlob } from "../../support/fake-hub/repository.ts";
import {
  commitsOf,
  expectPushed,
  fakeHub,
  impatientClock,
  projectOf,
  push,
  putsOf,
  repositoryOf,
  shardBytes,
} from "./support.ts";

const shards = {
  train: [shardBytes("a"), shardBytes("b"), shardBytes("large", 2500)],
  test: [shardBytes("c")],
};

const EVERY_CALL = [
  "GET /api/datasets/tester/voices",
  "POST /api/repos/create",
  "GET /api/datasets/tester/voices/revision",
  "GET /api/datasets/tester/voices/tree",
  "POST /api/datasets/tester/voices/preupload",
  "POST /datasets/tester/voices.git/info/lfs/objects/batch",
  "storage PUT",
  "/complete",
  "POST /api/datasets/tester/voices/paths-info",
  "POST /api/datasets/tester/voices/commit",
];

const gateway = {
  status: 504,
  headers: { "content-type": "text/html" },
  body: "<html>504 Gateway Time-out</html>",
};
const busy = { status: 503, body: "unavailable" };
const limit = { status: 429, headers: { "retry-after": "41" }, body: "too many" };

const MISDEEDS: readonly (readonly [string, FaultRule["misdeed"]])[] = [
  ["429", { kind: "answer", answer: limit }],
  ["503", { kind: "answer", answer: busy }],
  ["a reset", { kind: "reset" }],
  ["a lost reply", { kind: "lost-reply" }],
  ["a gateway's reply", { kind: "replaced-reply", answer: gateway }],
  ["half a reply", { kind: "cut", after: 1 }],
];

describe("a push of which every call once meets", () => {
  it.each(MISDEEDS)("%s ends with exactly the right files", async (name, misdeed) => {
    const hub = await fakeHub();
    Object.assign(hub.state, { multipartAbove: 1000, partBytes: 900 });
    for (const on of EVERY_CALL) hub.faults.add({ on, misdeed });
    const clock = impatientClock();
    const project = await projectOf(shards);
    await push(hub, project, { clock });
    expect(hub.faults.left()).toBe(0);
    await expectPushed(hub, project);
    expect(repositoryOf(hub).commits.size).toBe(2);
    if (name === "429") expect(clock.waits.filter((wait) => wait === 41_000)).toHaveLength(EVERY_CALL.length);
  });
});

describe("a push", () => {
  it("does not make a second commit when the first one's reply was lost", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(shards)];
    hub.faults.add({ on: "/commit/", misdeed: { kind: "lost-reply" } });
    const { revision } = await push(hub, project);
    expect(commitsOf(hub)).toHaveLength(1);
    expect(revision).toBe(repositoryOf(hub).branches.get("main"));
  });

  it("looks again when the Hub finishes a commit long after its gateway gave up", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(shards)];
    let finish = async (): Promise<void> => {};
    // The first commit is answered with 504 and done only while the second one comes in: that one is refused by its parent.
    hub.faults.add({ on: "/commit/", misdeed: { kind: "answer", answer: gateway } });
    hub.faults.add({ on: "/commit/", misdeed: { kind: "call", before: async () => finish() } });
    const before = new Set<string>();
    finish = async () => {
      const repository = repositoryOf(hub);
      for (const oid of repository.commits.keys()) before.add(oid);
      addCommit(repository, { branch: "main", title: "late" }, () => undefined);
    };
    // A late commit by someone else looks the same from outside, and is told apart by its files.
    await expect(push(hub, project)).rejects.toMatchObject({ code: "REPO_MOVED" });
    expect(before.size).toBe(1);
    await push(hub, project);
    await expectPushed(hub, project);
  });

  it("stops when someone else commits meanwhile, and goes on from there the next time", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(shards)];
    const someone = async (): Promise<void> => {
      const repository = repositoryOf(hub);
      addCommit(repository, { branch: "main", title: "someone" }, (files) =>
        files.set("theirs.txt", storeBlob(repository, Buffer.from("theirs"))),
      );
    };
    hub.faults.add({ on: "/commit/", misdeed: { kind: "call", before: someone } });
    await expect(push(hub, project)).rejects.toMatchObject({ code: "REPO_MOVED", actor: "remote" });
    const puts = putsOf(hub).length;
    await push(hub, project);
    expect(putsOf(hub)).toHaveLength(puts);
    expect(commitsOf(hub)).toHaveLength(2);
  });

  it("asks for new links when the signed ones have run out", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(shards)];
    const expired = { status: 403, body: "<Error><Code>AccessDenied</Code>Request has expired</Error>" };
    hub.faults.add({ on: "storage PUT", skip: 2, times: 2, misdeed: { kind: "answer", answer: expired } });
    await push(hub, project);
    await expectPushed(hub, project);
    expect(hub.requests.filter((line) => line.includes("objects/batch"))).toHaveLength(2);
  });

  it("gives up in words when the Hub stays away, and goes on later", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(shards)];
    hub.faults.add({ on: "storage PUT", times: 200, misdeed: { kind: "answer", answer: busy } });
    const failed: unknown = await push(hub, project).catch((thrown: unknown) => thrown);
    expect(failed).toMatchObject({ code: "HUB_STATUS", hint: expect.stringContaining("goes on") });
    expect(String(failed)).not.toContain("secret-signature");
  });

  it("does not take over what the storage got wrong", async () => {
    const [hub, project] = [await fakeHub(), await projectOf(shards)];
    const damage = async (): Promise<void> => {
      const repository = repositoryOf(hub);
      const wrong = storeBlob(repository, Buffer.from("wrong"));
      addCommit(repository, { branch: "main", title: "damaged" }, (files) =>
        files.set("data/test-00000-of-00001.parquet", wrong),
      );
    };
    // The head that the proof looks at is ours; what it holds is compared, not believed.
    hub.faults.add({ on: /POST .*commit/, misdeed: { kind: "call", after: damage } });
    const { revision } = await push(hub, project);
    expect(revision).not.toBe(repositoryOf(hub).branches.get("main"));
    await push(hub, project);
    await expectPushed(hub, project);
  });

  it.each([
    [401, null, /HF_TOKEN/],
    [403, null, /write permission/],
    [404, "RepoNotFound", /OWNER\/NAME/],
  ])("explains a refusal with %d", async (status, code, hint) => {
    const [hub, project] = [await fakeHub(), await projectOf(shards)];
    const headers = code === null ? {} : { "x-error-code": code };
    hub.faults.add({ on: "preupload", misdeed: { kind: "answer", answer: { status, headers } } });
    await expect(push(hub, project)).rejects.toMatchObject({ hint: expect.stringMatching(hint) });
  });
});
