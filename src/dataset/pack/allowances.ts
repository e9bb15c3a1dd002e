import { UserError } from "../../core/errors.ts";
import type { JudgedGate } from "./gate.ts";

/** Reasons that a person gave for letting a violated gate pass, by the gate's name. */
export type Allowances = Readonly<Record<string, string>>;

/** Names of all gates, for `--allow`. */
export const GATES = [
  "role_membership",
  "held_out_roles",
  "unique_ids",
  "no_shared_text",
  "no_shared_audio",
  "reference_clips",
  "expected_counts",
  "system_prompts",
] as const;

// Without these a shard cannot be read or a run cannot be judged at all, whatever the reason.
const NEVER_ALLOWED: ReadonlySet<string> = new Set(["unique_ids"]);

/** UserErrors `GATE_UNKNOWN`, and `GATE_NOT_ALLOWABLE` for an allowance that means nothing. */
export const checkAllowance = (name: string): void => {
  if (NEVER_ALLOWED.has(name))
    throw new UserError("GATE_NOT_ALLOWABLE", `The gate ${name} cannot be allowed`, {
      hint: "two rows with one id cannot be told apart afterwards: repair the corpus",
    });
  if (!GATES.some((known) => known === name))
    throw new UserError("GATE_UNKNOWN", `There is no gate "${name}"`, { hint: `gates: ${GATES.join(", ")}` });
};

export interface RefusedWith {
  /** Of the data set. */
  readonly name: string;
  /** What was allowed this time. */
  readonly allow: Allowances;
  /** Reasons that the lock records, from a pack before. */
  readonly recorded: Allowances;
  /** How many dialogues were left out. */
  readonly dropped: number;
}

/** Gates that are violated, and that nobody allowed. */
export const violatedGates = (gates: readonly JudgedGate[]): readonly JudgedGate[] =>
  gates.filter(({ passed, allowed }) => !passed && allowed === null);

/** UserError `GATE_VIOLATED`: the gates with the first of what violates each, and how to go on. */
export const gateViolated = (violated: readonly JudgedGate[], refused: RefusedWith): UserError => {
  const { name, dropped } = refused;
  const lines = violated.flatMap((one) => problemLines(one, name));
  const why = dropped === 0 ? [] : [`what was left out, and why: understudy dataset show ${name} --drops`];
  return new UserError("GATE_VIOLATED", `The data set is not packed, because of:\n${lines.join("\n")}`, {
    hint: [howToGoOn(violated, refused), ...why].join("\n"),
  });
};

const MOST_TOLD = 5;

function problemLines({ name: gate, problems }: JudgedGate, name: string): readonly string[] {
  const [only] = problems;
  if (problems.length === 1) return [`  ${gate}: ${only}`];
  const more = problems.length - MOST_TOLD;
  return [
    `  ${gate}:`,
    ...problems.slice(0, MOST_TOLD).map((problem) => `    ${problem}`),
    ...(more > 0 ? [`    and ${more} more: understudy dataset show ${name} --drops`] : []),
  ];
}

const REPAIR =
  "repair the corpus or its spec; if you know why a gate does not matter here, --allow GATE=REASON records it in the lock";

// A reason counts for one pack: what it excused may have grown since. Nobody has to remember it, though.
function howToGoOn(
  violated: readonly JudgedGate[],
  { name, allow, recorded }: Pick<RefusedWith, "name" | "allow" | "recorded">,
): string {
  const known = violated.flatMap(({ name: gate }) => {
    const reason = Object.hasOwn(recorded, gate) ? recorded[gate] : undefined;
    return reason === undefined ? [] : [[gate, reason] as const];
  });
  const never = violated.filter(({ name: gate }) => NEVER_ALLOWED.has(gate)).map(({ name: gate }) => gate);
  const repair =
    never.length === 0
      ? REPAIR
      : `repair the corpus or its spec; ${never.length === violated.length ? "this gate" : never.join(" and ")} cannot be allowed`;
  if (known.length === 0) return repair;
  const words = [...Object.entries(allow), ...known].map(
    ([gate, reason]) => `--allow ${gate}=${quoted(reason)}`,
  );
  const again = `allowed at the pack before, and to be allowed anew: understudy dataset pack ${name} ${words.join(" ")}`;
  return known.length === violated.length ? again : `${repair}\n${again}`;
}

// For any POSIX shell.
const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
