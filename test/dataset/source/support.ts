import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Project } from "../../../src/core/project.ts";
import { loadSpec, type DialogueSource, type Draft, type Found } from "../../../src/dataset/index.ts";
import { openSource } from "../../../src/dataset/source/open-source.ts";
import { makeProject } from "../corpus.ts";

export const ROLES = [
  { stem: "Thor", slug: "thor", displayName: "Thor", language: "en", source: "Marvel", heldOut: false },
  {
    stem: "Prof. G.H. Dorr",
    slug: "dorr",
    displayName: "Dorr",
    language: "en",
    source: "Coen",
    heldOut: false,
  },
];

/** A project with a data set `given` of some source; its files lie in datasets/given/. */
export const projectOf = async (
  source: Readonly<Record<string, unknown>>,
  files: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<Project> => {
  const project = await makeProject();
  const spec = {
    schemaVersion: 1,
    name: "given",
    description: "for tests",
    licence: "CC0-1.0",
    source: { path: "given", revision: "1", roles: "roles.json", trainReference: "cosyvoice2", ...source },
    splits: { by: "spec", seed: 1, heldOutRoles: [] },
    // The clips are short tones, and all roles speak English.
    checks: { charactersPerSecond: { en: [0, 10_000], zh: [0, 10_000] }, wrongLanguage: "keep" },
  };
  await put(join(project.datasets, "given.yaml"), JSON.stringify(spec));
  for (const [path, content] of Object.entries({ "roles.json": JSON.stringify(ROLES), ...files }))
    await put(join(project.datasets, "given", path), content);
  return project;
};

/** Writes a file and the folders above it. */
export const put = async (path: string, content: string | Uint8Array): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
};

export const openGiven = async (project: Project): Promise<DialogueSource> =>
  openSource(await loadSpec(project, "given"), project);

/** Every dialogue of a source, in its order, and the same read a second time by its place. */
export const readAll = async (
  source: DialogueSource,
): Promise<{ readonly found: readonly Found[]; readonly again: readonly (Draft | null)[] }> => {
  const found: Found[] = [];
  for (const unit of source.units) for await (const one of source.dialogues(unit)) found.push(one);
  const again: (Draft | null)[] = [];
  // Backwards, so that nothing depends on what was read last.
  for (const one of found.toReversed())
    again.unshift(one.content.outcome === "dialogue" ? await source.read(one) : null);
  return { found, again };
};

/** The draft of a dialogue, or why it has none. */
export const draftOf = ({ content }: Found): unknown =>
  content.outcome === "dialogue"
    ? content.draft
    : { reason: content.reason, turn: content.turn, detail: content.detail };

/** A turn of a record, with clips of its own. */
export const turn = (user: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  user_text: user,
  role_text: `${user} indeed.`,
  user_audio: `audio/${user}.wav`,
  role_audio: `audio/${user}-role.wav`,
  ...more,
});
/** Records as lines; a text is a line as it is. */
export const jsonl = (...records: readonly unknown[]): string =>
  records.map((record) => (typeof record === "string" ? record : JSON.stringify(record))).join("\n");
