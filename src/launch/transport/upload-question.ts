import { RemoteError } from "../../core/errors.ts";
import type { JobInput } from "../schema.ts";
import { farScript } from "./far-script.ts";
import { must } from "./must.ts";
import type { Transport } from "./transport.ts";

/** An input that is not there, and how much of it an earlier try has brought. */
export interface MissingInput {
  readonly input: JobInput;
  readonly there: number;
}

// A quarter of what one argument list usually may hold.
const LARGEST_QUESTION = 512 * 1024;

/** Asks once (in parts for very many) which inputs are missing. RemoteErrors `INPUT_DIFFERS`, `TRANSPORT_…`. */
export const missingThere = async (
  transport: Transport,
  inputs: readonly JobInput[],
  signal: AbortSignal | undefined,
): Promise<MissingInput[]> => {
  const wanted = [...new Map(inputs.map((input) => [input.path, input])).values()];
  const missing: MissingInput[] = [];
  for (const part of questions(wanted)) {
    const outcome = await farScript(
      transport,
      SIZES,
      part.map(({ path }) => path),
      signal ? { signal } : {},
    );
    const answers = must(outcome, "look for the files of the job").toString().split("\n");
    for (const [index, input] of part.entries()) {
      const [, final = "", partial = ""] = /^(-|\d+) (-|\d+)$/.exec(answers[index] ?? "") ?? [];
      if (final === "") throw new RemoteError("FAR_COMMAND_FAILED", `Nothing was said about ${input.path}`);
      if (final === "-") missing.push({ input, there: partial === "-" ? 0 : Number(partial) });
      else if (Number(final) !== input.bytes) throw differs(input, Number(final));
    }
  }
  return missing;
};

// A line for each path: its size and that of its part, or "-". A part that is asked for is not one that everybody has forgotten.
const SIZES = `for path; do
  size=$(stat -L -c %s -- "$path" 2>/dev/null) || size=-
  part=$(stat -L -c %s -- "$path.part" 2>/dev/null) || part=-
  [ "$part" = - ] || touch -c -- "$path.part" 2>/dev/null || :
  echo "$size $part"
done`;

function* questions(inputs: readonly JobInput[]): Generator<readonly JobInput[]> {
  let part: JobInput[] = [];
  let length = 0;
  for (const input of inputs) {
    part.push(input);
    length += Buffer.byteLength(input.path);
    if (length < LARGEST_QUESTION) continue;
    yield part;
    [part, length] = [[], 0];
  }
  if (part.length > 0) yield part;
}

const differs = (input: JobInput, bytes: number): RemoteError =>
  new RemoteError(
    "INPUT_DIFFERS",
    `${input.path} is there with ${bytes} bytes; it should have ${input.bytes}`,
    {
      hint: "it is never overwritten: remove it there if nothing uses it",
    },
  );
