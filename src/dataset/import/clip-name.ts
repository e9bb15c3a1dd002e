import { basename } from "node:path";

/** Where a clip says that it belongs, by one of the two schemes of the release; undefined for any other name. */
export interface ClipName {
  /** Undefined where the scheme does not say it in a way that can be compared. */
  readonly dialogue: number | undefined;
  readonly turn: number;
  readonly who: "user" | "role";
}

/**
 * Reads the name of a clip, only to tell that it disagrees with the place it stands at: `{k}_{stem}_0_{turn}_user.wav` of
 * the released test (k from 1), `{stem}_{i}_{turn}_role.wav` of the build scripts (i counts before the split).
 */
export const clipName = (path: string, stem: string): ClipName | undefined => {
  const name = basename(path.replaceAll("\\", "/")).normalize("NFC");
  const tail = /_(\d+)_(\d+)_(user|role)\d?\.wav$/.exec(name);
  if (!tail) return undefined;
  const [end, middle, turn, who] = tail;
  const head = name.slice(0, name.length - end.length);
  const at = { turn: Number(turn), who: who === "user" ? ("user" as const) : ("role" as const) };
  if (head === stem) return { ...at, dialogue: undefined };
  const number = /^(\d+)_/.exec(head)?.[1];
  if (number === undefined || head.slice(number.length + 1) !== stem || middle !== "0") return undefined;
  return { ...at, dialogue: Number(number) - 1 };
};
