import { UserError } from "../../../core/errors.ts";
import { readLock, SPLITS, type DatasetLock } from "../../../dataset/index.ts";
import { defineCommand } from "../../command.ts";
import type { Context } from "../../context.ts";
import { showDialogue } from "./show-dialogue.ts";
import { showDialogues } from "./show-dialogues.ts";
import { showDrops, showNear } from "./show-left-out.ts";
import { showOverview, showRole } from "./show-overview.ts";

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
    near: { type: "boolean", describe: "List the near-duplicates that were left out" },
  },
  json: true,
  details:
    "Without options: roles, counts, tokens and what was left out. A split lists its dialogues, a dialogue shows what was said.",
  examples: [
    "understudy dataset show greenroom",
    "understudy dataset show greenroom --role 金葫芦 --split test",
    "understudy dataset show greenroom --dialogue ID --play /tmp/listen",
  ],
  handler: async (values, context) => {
    const view = viewOf(values);
    const { name, role } = values;
    const project = await context.project();
    const scene: Scene = { name, project, lock: await readLock(project, name), role, context };
    if (view === "dialogue") return showDialogue(scene, values.dialogue ?? "", values.play);
    if (view === "split") return showDialogues(scene, values.split ?? "test");
    if (view === "drops") return showDrops(scene);
    if (view === "near") return showNear(scene);
    return role === undefined ? showOverview(scene) : showRole(scene, role);
  },
});

/** What every view works with. */
export interface Scene {
  readonly name: string;
  readonly project: Awaited<ReturnType<Context["project"]>>;
  readonly lock: DatasetLock;
  readonly role: string | undefined;
  readonly context: Context;
}

type View = "dialogue" | "split" | "drops" | "near" | "overview";

function viewOf(values: {
  readonly dialogue: string | undefined;
  readonly split: string | undefined;
  readonly drops: boolean;
  readonly near: boolean;
  readonly play: string | undefined;
}): View {
  const wanted = (["dialogue", "split", "drops", "near"] as const).filter(
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
