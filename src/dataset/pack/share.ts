import { UserError } from "../../core/errors.ts";

/** Which part of the work this process does, of several that share a packed folder. */
export interface Share {
  /** `all`, or `2/8` as it was written. */
  readonly text: string;
  readonly includes: (index: number) => boolean;
}

export const ALL: Share = { text: "all", includes: () => true };

/** `2/8`: the second of eight. UserError `SHARE_INVALID`. */
export const parseShare = (text: string): Share => {
  const [, which, of] = /^([1-9]\d{0,4})\/([1-9]\d{0,4})$/.exec(text) ?? [];
  const [index, count] = [Number(which), Number(of)];
  if (which === undefined || index > count)
    throw new UserError("SHARE_INVALID", `"${text}" is no share of a pack`, {
      hint: "write I/N with I from 1 to N, such as 3/8; in a Slurm array $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT",
    });
  return { text, includes: (at) => at % count === index - 1 };
};
