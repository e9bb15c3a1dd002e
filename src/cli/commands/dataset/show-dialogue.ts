import { join, resolve } from "node:path";
import { CLIP_RATE, clipPcm } from "../../../audio/index.ts";
import { UserError } from "../../../core/errors.ts";
import { writeAtomic } from "../../../core/files.ts";
import {
  openDataset,
  REFERENCE_BACKENDS,
  wavClip,
  type Clip,
  type Dialogue,
  type Turn,
} from "../../../dataset/index.ts";
import { pairLines } from "../../table.ts";
import { cutText, textWidth } from "../../text-width.ts";
import { wrap } from "../../wrap.ts";
import type { Scene } from "./show.ts";

interface Heard {
  /** `user`, or the engine that spoke the answer. */
  readonly voice: string;
  readonly seconds: number;
  readonly codec: "wav" | "flac";
  /** Where it was written; null without `--play`. */
  readonly file: string | null;
}

interface Shown {
  readonly index: number;
  readonly user: string;
  readonly role: string;
  readonly clips: readonly Heard[];
}

/** A dialogue with its turns; with a folder its clips are written there as WAV files. */
export const showDialogue = async (
  { name, project, lock, spec, context }: Scene,
  id: string,
  play: string | undefined,
): Promise<void> => {
  const { print, width } = context;
  const dataset = await openDataset(project, name);
  try {
    const dialogue = await dataset.dialogue(id);
    const split = await dataset.splitOf(id);
    const folder = play === undefined ? undefined : resolve(context.cwd, play);
    const turns: Shown[] = [];
    for (const turn of dialogue.turns) turns.push(await shown(dialogue, turn, folder));
    const {
      roleId,
      roleName,
      language,
      kind,
      category,
      systemPrompt,
      context: scene,
      audioSeconds,
    } = dialogue;
    const heldOut = lock.roles.find((role) => role.id === roleId)?.heldOut ?? null;
    const value = {
      name,
      id,
      split,
      role: roleId,
      roleName,
      heldOut,
      language,
      kind,
      category,
      systemPrompt,
      context: scene,
      audioSeconds,
      specChanged: spec.changed,
      turns,
      folder: folder ?? null,
    };
    print.result(value, () => [
      id,
      ...pairLines(
        [
          ["role", `${roleName} (${roleId})${heldOut ? ", held out" : ""}`],
          ["split", split ?? ""],
          ["kind", [kind, language, ...(category === null ? [] : [category])].join(", ")],
          ["role card", systemPrompt ?? "none"],
          ...(scene === null ? [] : [["scene", scene] as const]),
        ],
        width,
      ),
      ...turns.flatMap((turn) => ["", ...turnLines(turn, roleName, width)]),
      ...(folder === undefined
        ? ["", "hear it: add --play FOLDER"]
        : ["", `wrote ${turns.reduce((sum, { clips }) => sum + clips.length, 0)} WAV files to ${folder}`]),
    ]);
  } finally {
    await dataset.close();
  }
};

async function shown(dialogue: Dialogue, turn: Turn, folder: string | undefined): Promise<Shown> {
  const voices: readonly (readonly [voice: string, clip: Clip | null])[] = [
    ["user", turn.userAudio],
    ...REFERENCE_BACKENDS.map((backend) => [backend, turn.roleAudio[backend]] as const),
  ];
  const clips: Heard[] = [];
  for (const [voice, clip] of voices) {
    if (!clip) continue;
    const wav = await wavClip(clip);
    const file = folder === undefined ? null : join(folder, fileName(dialogue.id, turn.index, voice));
    if (file !== null) await write(file, wav);
    clips.push({
      voice,
      seconds: clipPcm(wav.bytes).length / 2 / CLIP_RATE,
      codec: wav === clip ? "wav" : "flac",
      file,
    });
  }
  return { index: turn.index, user: turn.userText, role: turn.roleText, clips };
}

// Turns are counted from 1 here, as on the screen. An id is plain in our own shards; those of others may say anything.
const fileName = (id: string, turn: number, voice: string): string =>
  `${id.replaceAll(/[^\p{L}\p{N}_-]/gu, "_")}-${turn + 1}-${voice}.wav`;

async function write(file: string, { bytes }: Clip): Promise<void> {
  try {
    await writeAtomic(file, bytes);
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError("PLAY_UNWRITABLE", `${file} cannot be written`, {
      hint: "name a folder that you may write, or one that is not there yet",
      cause: error,
    });
  }
}

// A longer name leaves little room for what is said.
const LONGEST_NAME = 20;
// Of a pair: its indent, and the gap after its name.
const BESIDE = 4;

function turnLines({ index, user, role, clips }: Shown, roleName: string, width: number): string[] {
  const name = cutText(roleName, LONGEST_NAME);
  const room = width - Math.max(...["user", name].map(textWidth)) - BESIDE;
  const [asked, answered] = [clips.filter(isUsers), clips.filter((clip) => !isUsers(clip))];
  const labels = answered.map(({ voice, seconds }) => `[${voice} ${seconds.toFixed(1)} s]`);
  return [
    `turn ${index + 1}`,
    ...pairLines(
      [
        [
          "user",
          labelled(
            user,
            asked.map(({ seconds }) => `[${seconds.toFixed(1)} s]`),
            room,
          ),
        ],
        [name, labelled(role, labels, room)],
      ],
      width,
    ),
  ];
}

const isUsers = ({ voice }: Heard): boolean => voice === "user";

// What was said with its clips, each in brackets that stand in one line.
function labelled(text: string, labels: readonly string[], room: number): string {
  const lines = wrap(text, room);
  for (const [index, label] of labels.entries()) {
    const longer = `${lines.at(-1) ?? ""}${index === 0 ? "  " : " "}${label}`;
    if (textWidth(longer) <= room) lines.splice(-1, 1, longer);
    else lines.push(label);
  }
  return lines.join("\n");
}
