import { join } from "node:path";
import type { Clock } from "../../core/clock.ts";
import { UserError } from "../../core/errors.ts";
import { readIfExists } from "../../core/files.ts";

/** Of the machine that launches. An opened launcher's world is one. */
export interface FarWorld {
  readonly clock: Clock;
  /** Folder of the payload here; its `far/` scripts are sent along with each question. */
  readonly payload: string;
  /** Of the person who launches. UNDERSTUDY_FAR_TORCH_WHEELS: where the CPU build of torch comes from on far machines. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export type FarScriptName = "check" | "environment" | "trust";

/** The text of a far script. UserError `PAYLOAD_INCOMPLETE`. */
export const readFarScript = async (world: Pick<FarWorld, "payload">, name: FarScriptName): Promise<string> =>
  readFarFile(world, `${name}.sh`);

/** The same for a file with any ending. */
export const readFarFile = async (world: Pick<FarWorld, "payload">, name: string): Promise<string> => {
  const file = join(world.payload, "far", name);
  const text = await readIfExists(file);
  if (text !== undefined) return text;
  throw new UserError("PAYLOAD_INCOMPLETE", `There is no file ${file}`, {
    hint: "the payload folder must be the one that came with this program",
  });
};
