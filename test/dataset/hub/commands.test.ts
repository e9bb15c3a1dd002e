import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { runUnderstudy, type Sink } from "../../../src/cli/index.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { projectAt, type Project } from "../../../src/core/project.ts";
import { lockDigest, openDataset, packDataset, readLock } from "../../../src/dataset/index.ts";
import { HUB_TOKEN, type FakeHub } from "../../support/fake-hub/fake-hub.ts";
import { commitAt, contentOf } from "../../support/fake-hub/repository.ts";
import { temporaryProject } from "../../support/temporary-project.ts";
import { makeCorpus, projectWith, turnAt, writeCorpus } from "../corpus.ts";
import { allText, fakeHub } from "./support.ts";

const REPO = "tester/small";
let said = "";
let hub: FakeHub;
beforeEach(async () => {
  said = "";
  hub = await fakeHub();
});

/** A command line against the fake Hub, with the world's network. */
const run = async (
  project: Project,
  words: readonly string[],
  environment: object = {},
): Promise<{ code: number; out: string }> => {
  let out = "";
  const sink = (write: (text: string) => void): Sink => ({ write, isTerminal: false, width: 100 });
  const code = await runUnderstudy(words, {
    cwd: project.root,
    environment: { HF_TOKEN: HUB_TOKEN, HF_ENDPOINT: `${hub.url}/`, ...environment },
    stdout: sink((text) => (out += text)),
    stderr: sink((text) => (said += text)),
    clock: systemClock,
    fetch: globalThis.fetch,
    signal: new AbortController().signal,
  });
  said += out;
  return { code, out };
};

const packed = async (): Promise<Project> => {
  const project = await projectWith();
  await packDataset({ project, name: "small" });
  return project;
};
const elsewhere = async (): Promise<Project> => projectAt((await temporaryProject()).root);

describe("dataset push and pull", () => {
  it("carry a packed data set to another project, where it is as good as packed there", async () => {
    const [project, other] = [await packed(), await elsewhere()];
    const dry = await run(project, ["dataset", "push", "small", REPO, "--dry-run"]);
    expect(dry.out).toContain("Would make the private repository tester/small and send");
    expect(said).not.toContain("without a token");
    const pushed = await run(project, ["dataset", "push", "small", REPO]);
    expect(pushed.code, said).toBe(0);
    expect(pushed.out).toMatch(
      /Sent \d+ files .* in 1 commits\nprivate: .*\nbranch main, commit [0-9a-f]{40}/,
    );
    expect((await run(project, ["dataset", "push", "small", REPO])).out).toContain("nothing was sent");

    const pulled = await run(other, ["dataset", "pull", REPO, "--json"]);
    expect(pulled.code, said).toBe(0);
    const { revision, downloaded } = JSON.parse(pulled.out);
    expect(revision).toBe(hub.state.repositories.get(REPO)?.branches.get("main"));
    expect(downloaded).toBeGreaterThan(2);
    expect(lockDigest(await readLock(other, "small"))).toBe(lockDigest(await readLock(project, "small")));
    for (const verb of ["check", "show"])
      expect((await run(other, ["dataset", verb, "small"])).code, said).toBe(0);
    const [here, there] = [await openDataset(project, "small"), await openDataset(other, "small")];
    for await (const { id } of here.texts("test"))
      expect((await there.dialogue(id)).contentSha256).toBe((await here.dialogue(id)).contentSha256);
    await Promise.all([here.close(), there.close()]);
    expect(`${said}${await allText(other.root)}`).not.toContain(HUB_TOKEN);
  });

  it("follow a data set that was packed anew, but keep a spec that a person has changed", async () => {
    const [project, other] = [await packed(), await elsewhere()];
    await run(project, ["dataset", "push", "small", REPO]);
    await run(other, ["dataset", "pull", REPO]);
    const corpus = makeCorpus();
    corpus.spec["description"] = "packed anew";
    turnAt(corpus, "train/single/Thor.json", { dialogue: 0, turn: 0 }).role = "Another answer.";
    await writeCorpus(project, corpus);
    await packDataset({ project, name: "small" });
    await run(project, ["dataset", "push", "small", REPO]);
    await run(other, ["dataset", "pull", REPO]);
    const spec = join(other.datasets, "small.yaml");
    expect(await readFile(spec, "utf8")).toContain("packed anew");
    expect((await run(other, ["dataset", "check", "small", "--json"])).out).toContain('"specChanged": false');
    await writeFile(spec, `${await readFile(spec, "utf8")}# mine\n`.replace("packed anew", "my words"));
    await run(other, ["dataset", "pull", REPO]);
    expect(await readFile(spec, "utf8")).toContain("my words");
  });

  it("pull under another name gives lock and spec that belong together", async () => {
    const [project, other] = [await packed(), await elsewhere()];
    await run(project, ["dataset", "push", "small", REPO]);
    expect((await run(other, ["dataset", "pull", REPO, "--as", "little"])).code, said).toBe(0);
    expect((await run(other, ["dataset", "check", "little", "--json"])).out).toContain(
      '"specChanged": false',
    );
  });

  it("leave a spec at home that names a place on this machine", async () => {
    const corpus = makeCorpus();
    const project = await projectWith();
    corpus.spec["source"] = { ...Object(corpus.spec["source"]), path: join(project.datasets, "small") };
    await writeCorpus(project, corpus);
    await packDataset({ project, name: "small" });
    await run(project, ["dataset", "push", "small", REPO]);
    const files = [...(hub.state.repositories.get(REPO)?.commits.values() ?? [])].at(-1)?.files;
    expect([...(files?.keys() ?? [])]).not.toContain("understudy.yaml");
    expect([...(files?.keys() ?? [])]).toContain("understudy.lock.json");
  });

  it("send the card with its drawings, and a plain one with a warning where the spec is another", async () => {
    const project = await packed();
    await run(project, ["dataset", "push", "small", REPO]);
    const sent = (path: string): string => {
      const repository = hub.state.repositories.get(REPO);
      const file = repository && commitAt(repository, "main")?.files.get(path);
      return repository && file ? contentOf(repository, file).toString("utf8") : "";
    };
    const card = sent("README.md");
    expect(card).toContain("card/durations.svg");
    expect(card).toContain(`load_dataset("${REPO}"`);
    expect(sent("card/durations.svg")).toMatch(/^<svg /);
    const spec = join(project.datasets, "small.yaml");
    await writeFile(spec, (await readFile(spec, "utf8")).replace("for tests", "for more"));
    expect((await run(project, ["dataset", "push", "small", REPO])).code).toBe(0);
    expect(said).toContain("neither it nor its licence and description are sent");
    expect(sent("README.md")).not.toContain("licen");
    await rm(spec);
    expect((await run(project, ["dataset", "push", "small", REPO])).code).toBe(0);
    expect(said).toContain("there is no datasets/small.yaml");
    for (const verb of ["show", "check"])
      expect((await run(project, ["dataset", verb, "small"])).code, said).toBe(0);
    expect(said).toContain("pulled without its spec");
  });

  it("are a source: pack fetches the repository first, at its commit, and once for a pinned one", async () => {
    const [project, other] = [await packed(), await elsewhere()];
    await run(project, ["dataset", "push", "small", REPO]);
    const commit = hub.state.repositories.get(REPO)?.branches.get("main") ?? "";
    const corpus = makeCorpus();
    corpus.spec["source"] = {
      format: "hub",
      repo: REPO,
      revision: "main",
      roles: "small.roles.json",
      trainReference: "cosyvoice2",
    };
    await writeFile(join(other.datasets, "small.yaml"), JSON.stringify(corpus.spec));
    await writeFile(join(other.datasets, "small.roles.json"), JSON.stringify(corpus.roles));
    const result = await run(other, ["dataset", "pack", "small"]);
    expect(result.code, said).toBe(0);
    expect((await readLock(other, "small")).sourceRevision).toBe(commit);
    corpus.spec["source"] = { ...Object(corpus.spec["source"]), revision: commit };
    await writeFile(join(other.datasets, "small.yaml"), JSON.stringify(corpus.spec));
    expect((await run(other, ["dataset", "pack", "small"])).code, said).toBe(0);
    // It is all here now: no Hub is asked for a commit.
    const offline = { HF_ENDPOINT: "http://127.0.0.1:9/" };
    const again = await run(other, ["dataset", "pack", "small"], offline);
    expect(again.out, said).toContain("packed already");
    expect(again.code).toBe(0);
  });

  it("say without a token what would be sent, as far as can be seen so", async () => {
    const project = await packed();
    const dry = async (...words: string[]): Promise<{ code: number; out: string }> =>
      run(project, ["dataset", "push", "small", REPO, "--dry-run", ...words], { HF_TOKEN: undefined });
    const absent = await dry();
    expect(absent.code, said).toBe(0);
    expect(absent.out).toContain("Would make the private repository tester/small and send");
    expect(said).toContain("the Hub was asked without a token");
    expect(said).toContain("if tester/small is there and private");
    expect(hub.state.repositories.has(REPO)).toBe(false);
    expect((await run(project, ["dataset", "push", "small", REPO, "--public"])).code, said).toBe(0);
    const there = await dry("--public", "--json");
    expect(JSON.parse(there.out)).toMatchObject({ created: false, askedWithToken: false, uploaded: [] });
    expect((await dry()).code).toBe(3);
    expect(said).toContain("everyone could read");
  });

  it("end with the exit code and the words that help", async () => {
    const project = await packed();
    expect((await run(project, ["dataset", "push", "small", REPO], { HF_TOKEN: undefined })).code).toBe(2);
    expect(said).toContain("set HF_TOKEN to one with write permission");
    expect((await run(project, ["dataset", "pull", REPO])).code).toBe(4);
    expect((await run(project, ["dataset", "push", "small", "no-owner"])).code).toBe(2);
    expect(said).toContain("OWNER/NAME");
    expect((await run(project, ["dataset", "pull", REPO], { HF_ENDPOINT: "not a url" })).code).toBe(2);
    hub.repository(REPO, { isPrivate: false });
    expect((await run(project, ["dataset", "push", "small", REPO])).code).toBe(3);
    expect(said).toContain("everyone could read");
    await rm(join(project.datasets, "small.lock.json"));
    expect((await run(project, ["dataset", "push", "small", REPO])).code).toBe(2);
    expect(said).toContain("understudy dataset pack small");
  });
});
