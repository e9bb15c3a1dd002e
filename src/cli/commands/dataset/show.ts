import { UserError } from "../../../core/errors.ts";
import { exists } from "../../../core/files.ts";
import {
  lockFile,
  readLock,
  readRefused,
  SPLITS,
  type DatasetLock,
  type Split,
} from "../../../dataset/index.ts";
import { defineCommand } from "../../command.ts";
import type { Context } from "../../context.ts";
import { showCard } from "./show-card.ts";
import { showDialogue } from "./show-dialogue.ts";
import { showDialogues } from "./show-dialogues.ts";
import { showDrops, showNear } from "./show-left-out.ts";
import { showOverview, showRole } from "./show-overview.ts";
import { showRefused } from "./show-refused.ts";
import { changedText, specNow, type FoundSpec } from "./spec-changed.ts";

export const datasetShow = defineCommand({
  positionals: { name: { describe: "Data set: datasets/NAME.yaml", complete: "dataset" } },
  options: {
    role: { type: "string", value: "ROLE", describe: "Only this role, by id, name or file stem" },
    split: { type: "string", value: "SPLIT", choices: SPLITS, describe: "List the dialogues of this split" },
    dialogue: { type: "string", value: "ID", describe: "Show this dialogue with its turns" },
    play: {
      type: "string",
      value: "FOLDER",
      describe: "With --dialogue: write its clips there as WAV files",
    },
    drops: { type: "boolean", describe: "List what was left out, and why" },
    card: {
      type: "string",
      value: "FOLDER",
      describe: "Write there the card that a push would publish",
    },
    near: { type: "boolean", describe: "List the near-duplicates that were left out" },
  },
  json: true,
  details:
    "Without options: roles, counts, tokens and what was left out. A split lists its dialogues, a dialogue shows what was said.",
  examples: [
    "understudy dataset show greenroom",
    "understudy dataset show greenroom --role 金葫芦 --split test",
    "understudy dataset show greenroom --dialogue ID --play /tmp/listen",
    "understudy dataset show greenroom --card /tmp/card",
  ],
  handler: async (values, context) => {
    const view = viewOf(values);
    const { name, role } = values;
    const project = await context.project();
    const refused = await readRefused(project, name);
    if (refused && view === "drops") return showRefused({ name, project, role, context }, refused);
    if (refused && !(await exists(lockFile(project, name)))) throw refusedError(name);
    const lock = await readLock(project, name);
    const scene: Scene = { name, project, lock, spec: await specNow(project, name, lock), role, context };
    await showView(scene, view, values);
    if (scene.spec.changed) context.print.warn(changedText(name));
    if (refused)
      context.print.warn(
        `the last pack of ${name} was refused, this is the one before: understudy dataset show ${name} --drops`,
      );
  },
});

async function showView(
  scene: Scene,
  view: View,
  {
    dialogue,
    play,
    split,
    card,
  }: Pick<Values, "dialogue" | "play" | "card"> & { readonly split: Split | undefined },
): Promise<void> {
  if (view === "dialogue") return showDialogue(scene, dialogue ?? "", play);
  if (view === "split") return showDialogues(scene, split ?? "test");
  if (view === "drops") return showDrops(scene);
  if (view === "near") return showNear(scene);
  if (view === "card") return showCard(scene, card ?? "", `OWNER/${scene.name}`);
  return scene.role === undefined ? showOverview(scene) : showRole(scene, scene.role);
}

const refusedError = (name: string): UserError =>
  new UserError("DATASET_NOT_PACKED", `The data set "${name}" is not packed: its last pack was refused`, {
    hint: `why, and what was left out: understudy dataset show ${name} --drops`,
  });

/** What every view works with. */
export interface Scene {
  readonly name: string;
  readonly project: Awaited<ReturnType<Context["project"]>>;
  readonly lock: DatasetLock;
  readonly spec: FoundSpec;
  readonly role: string | undefined;
  readonly context: Context;
}

type View = "card" | "dialogue" | "split" | "drops" | "near" | "overview";

interface Values {
  readonly dialogue: string | undefined;
  readonly split: string | undefined;
  readonly drops: boolean;
  readonly near: boolean;
  readonly play: string | undefined;
  readonly card: string | undefined;
}

function viewOf(values: Values): View {
  const wanted = (["dialogue", "split", "drops", "near", "card"] as const).filter(
    (view) => values[view] !== undefined && values[view] !== false,
  );
  if (wanted.length > 1)
    throw new UserError("SHOW_ONE", `--${wanted.join(" and --")} show different things`, {
      hint: "give one of them",
    });
  if (values.play !== undefined && values.dialogue === undefined)
    throw new UserError("PLAY_WHAT", "--play writes the clips of one dialogue, and none is named", {
      hint: "add --dialogue ID; --split SPLIT lists the ids",
    });
  return wanted[0] ?? "overview";
}
