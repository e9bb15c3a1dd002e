import type { AttemptLayout } from "../attempt-layout.ts";
import type { Job } from "../schema.ts";

/** Stands in a program's arguments for the manifest of whichever attempt a link begins. */
export const MANIFEST = "@MANIFEST@";

/** Name of the template in the folder of the submission's first attempt. */
export const TEMPLATE = "job.template.json";

/**
 * The manifest of CONTRACT.md for any attempt of a submission: link.sh puts number and token in. The same signs in the job's
 * own texts are written as JSON's \u0040, which link.sh does not find and a reader of JSON sees as they were.
 */
export const manifestTemplate = (job: Job, layout: AttemptLayout): string => {
  const { output, events, fence, run } = layout;
  const rest = JSON.stringify(job.manifest, null, 2);
  const stop = literal(`${run}/attempts/`).slice(0, -1);
  return [
    "{",
    '  "attempt": { "number": @ATTEMPT@, "token": "@TOKEN@" },',
    '  "paths": {',
    `    "output": ${literal(output)},`,
    `    "events": ${literal(events)},`,
    `    "fence": ${literal(fence)},`,
    `    "stop": ${stop}@ATTEMPT@/STOP"`,
    "  },",
    `${escaped(rest).slice(2)}\n`,
  ].join("\n");
};

const literal = (text: string): string => escaped(JSON.stringify(text));

function escaped(json: string): string {
  return json.replaceAll(/@(?=ATTEMPT@|TOKEN@)/g, "\\u0040");
}
