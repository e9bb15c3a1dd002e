/** What `environment.sh status` says. */
export interface Build {
  readonly state: "complete" | "building" | "failed" | "abandoned" | "absent";
  /** Number of the newest build; 0 when there is none. */
  readonly generation: number;
  /** `CODE sentence` of a failed one; may be empty. */
  readonly failed: string;
  /** Whole lines from the offset that was asked for, and the bytes they take. */
  readonly log: { readonly lines: readonly string[]; readonly bytes: number };
}

const STATES = ["complete", "building", "failed", "abandoned", "absent"] as const;

/** Total: anything that is not understood counts as absent, which starts nothing while a build's folder exists. */
export const parseBuild = (text: string): Build => {
  const [head = "", ...rest] = text.split(/^log\n/m);
  const facts = new Map(head.split("\n").map((line) => pair(line)));
  return {
    state: STATES.find((state) => state === facts.get("state")) ?? "absent",
    generation: Number(facts.get("generation") ?? 0) || 0,
    failed: facts.get("failed") ?? "",
    log: wholeLines(rest.join("log\n")),
  };
};

function pair(line: string): readonly [string, string] {
  const space = line.indexOf(" ");
  return space < 0 ? [line, ""] : [line.slice(0, space), line.slice(space + 1)];
}

function wholeLines(text: string): Build["log"] {
  const end = text.lastIndexOf("\n") + 1;
  const whole = text.slice(0, end);
  const lines = whole.split("\n").slice(0, -1);
  return { lines, bytes: Buffer.byteLength(whole) };
}
