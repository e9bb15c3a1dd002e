import type { JobInput } from "../schema.ts";
import type { Transport } from "../transport/transport.ts";
import { askScript } from "./ask.ts";
import { readFarScript, type FarWorld } from "./scripts.ts";

/** What lies on the far side of inputs that have to be there already. Nothing is hashed to find out. */
export interface InputsFound {
  /** Of the right size, with a record of their digest at that size and time of change. */
  readonly trusted: readonly JobInput[];
  /** Of the right size; their digest is not known yet, or they were changed since. The job hashes them. */
  readonly unproven: readonly JobInput[];
  readonly wrongSize: readonly { readonly input: JobInput; readonly bytes: number }[];
  readonly missing: readonly JobInput[];
}

/** One question for all of them. RemoteErrors `TRANSPORT_…`, `FAR_COMMAND_FAILED`. */
export const lookAtInputs = async (
  t: Transport,
  inputs: readonly JobInput[],
  place: { readonly records: string; readonly world: Pick<FarWorld, "payload"> },
): Promise<InputsFound> => {
  const script = await readFarScript(place.world, "trust");
  const stdin = inputs.map(({ bytes, sha256, path }) => `${bytes} ${sha256 || "-"} ${path}\n`).join("");
  const args = ["list", "--records", place.records];
  const text = await askScript(t, { script, args, what: "see which data lies there", stdin });
  return sortInputs(inputs, text);
};

/** The script's answer, one line for each input in their order: `trusted`, `unproven`, `size BYTES` or `missing`. */
export const sortInputs = (inputs: readonly JobInput[], text: string): InputsFound => {
  const words = text.split("\n").map((line) => line.split(" "));
  const said = inputs.map((input, index) => ({
    input,
    word: words[index]?.[0],
    bytes: Number(words[index]?.[1]),
  }));
  const those = (word: string): JobInput[] =>
    said.filter((line) => line.word === word).map(({ input }) => input);
  const known = ["trusted", "unproven", "size"];
  return {
    trusted: those("trusted"),
    unproven: those("unproven"),
    wrongSize: said.filter(({ word }) => word === "size"),
    missing: said.filter(({ word = "" }) => !known.includes(word)).map(({ input }) => input),
  };
};
