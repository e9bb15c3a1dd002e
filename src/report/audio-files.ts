import { constants } from "node:fs";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { systemCode } from "../core/errors.ts";
import { sha256, sha256File } from "../core/hash.ts";
import { answerAudio, referenceAudio, userAudio } from "./audio-id.ts";
import type { AudioFile } from "./html/view.ts";
import type { AudioSource, ReportInput } from "./input.ts";

interface Clip {
  readonly id: string;
  readonly source: AudioSource;
  /** What the file must be, where it was recorded. */
  readonly sha256: string | null;
}

/**
 * Puts every clip of the report under `folder`/audio, named by its content: one file for equal clips, and no name from
 * outside in any path. A clip that is not there or not what was recorded is said so and never fails the report.
 */
export const copyAudio = async (
  input: ReportInput,
  folder: string,
): Promise<ReadonlyMap<string, AudioFile>> => {
  await mkdir(join(folder, "audio"), { recursive: true });
  const files = new Map<string, AudioFile>();
  for (const clip of clipsOf(input)) files.set(clip.id, await copyClip(clip, folder));
  return files;
};

function clipsOf({ evaluation, dialogues }: ReportInput): readonly Clip[] {
  const answers = evaluation.results.flatMap(({ system, answers: rows, answersFolder }) =>
    rows.flatMap((row): Clip[] =>
      row.audio === null
        ? []
        : [
            {
              id: answerAudio(system, row),
              source: { kind: "path", path: join(answersFolder, row.audio) },
              sha256: row.sha256,
            },
          ],
    ),
  );
  const given = dialogues.flatMap(({ id, turns }) =>
    turns.flatMap(({ turn, userAudio: user, references }): Clip[] => {
      const at = { dialogue: id, turn };
      return [
        ...(user === null ? [] : [{ id: userAudio(at), source: user, sha256: null }]),
        ...references.map(({ label, audio }) => ({
          id: referenceAudio(at, label),
          source: audio,
          sha256: null,
        })),
      ];
    }),
  );
  return [...answers, ...given];
}

async function copyClip({ source, sha256: recorded }: Clip, folder: string): Promise<AudioFile> {
  const accepted = (digest: string): boolean => recorded === null || digest === recorded;
  const hrefOf = (digest: string): string => `audio/${digest.slice(0, 24)}.wav`;
  const changed = { missing: "the file is not the one that was recorded" };
  if (source.kind !== "path") {
    const bytes = source.kind === "bytes" ? source.bytes : await source.read();
    const digest = sha256(bytes);
    if (!accepted(digest)) return changed;
    await writeFile(join(folder, hrefOf(digest)), bytes);
    return { href: hrefOf(digest) };
  }
  try {
    const digest = await sha256File(source.path);
    if (!accepted(digest)) return changed;
    await copyFile(source.path, join(folder, hrefOf(digest)), constants.COPYFILE_FICLONE);
    return { href: hrefOf(digest) };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return { missing: "the file is gone" };
    throw error;
  }
}
