import type { FarProfile } from "../profile.ts";
import type { Check } from "../schema.ts";
import type { FarFacts } from "./facts.ts";
import { pythonChecks } from "./python-checks.ts";

/** Interpreter, engine, session, clock and limits of a far machine. `skewSeconds`: its clock minus ours, null when unknown. */
export const machineChecks = (
  facts: FarFacts,
  profile: FarProfile,
  skewSeconds: number | null,
): readonly Check[] => [
  ...pythonChecks(facts, profile),
  ...engineChecks(facts, profile),
  ...groupChecks(facts, profile),
  ...sessionChecks(facts, profile),
  ...clockChecks(skewSeconds),
  ...limitChecks(facts),
];

function engineChecks({ engine, image }: FarFacts, { container }: FarProfile): Check[] {
  if (container === undefined) return [];
  const checks: Check[] = [];
  if (engine !== null) {
    checks.push(
      engine.works
        ? { name: "container", outcome: "ok", detail: engine.text }
        : {
            name: "container",
            outcome: "failed",
            detail: `${container.engine} does not work: ${engine.text}`,
            hint: "load it in setup, or ask for access to it",
          },
    );
  }
  if (image === false) {
    const detail = `there is no image ${container.image}`;
    checks.push({
      name: "image",
      outcome: "failed",
      detail,
      hint: "put it there, or name another in the profile",
    });
  }
  return checks;
}

function groupChecks({ groups, user }: FarFacts, { group }: FarProfile): Check[] {
  if (group === undefined || groups === null) return [];
  const name = "group";
  return groups.includes(group)
    ? [{ name, outcome: "ok", detail: `${user} is in ${group}` }]
    : [
        {
          name,
          outcome: "warning",
          detail: `${user} is not in the group ${group}: what is made there cannot be given to it`,
          hint: "ask for membership, or change group in the profile",
        },
      ];
}

// Slurm's jobs are no children of the session.
function sessionChecks({ logind, user }: FarFacts, { kind }: FarProfile): Check[] {
  if (kind !== "ssh" || logind["KillUserProcesses"] !== "yes") return [];
  const spared = (logind["KillExcludeUsers"] ?? "").split(" ").includes(user);
  const only = (logind["KillOnlyUsers"] ?? "").split(" ").filter((name) => name !== "");
  if (spared || (only.length > 0 && !only.includes(user)) || logind["Linger"] === "yes") return [];
  return [
    {
      name: "logout",
      outcome: "warning",
      detail:
        "the machine ends all processes of a user at logout (KillUserProcesses=yes), and lingering is off",
      hint: `the start turns lingering on where it may; else ask for: loginctl enable-linger ${user}`,
    },
  ];
}

const TOLERATED_SKEW = 120;

function clockChecks(skew: number | null): Check[] {
  if (skew === null) return [];
  const name = "clock";
  const direction = skew > 0 ? "ahead of" : "behind";
  const detail = `${Math.abs(Math.round(skew))} s ${direction} this machine's`;
  return Math.abs(skew) <= TOLERATED_SKEW
    ? [{ name, outcome: "ok", detail }]
    : [{ name, outcome: "warning", detail, hint: "times in logs and events will not match; set up NTP" }];
}

const FEW_FILES = 1024;

function limitChecks({ openFiles }: FarFacts): Check[] {
  if (openFiles === null || openFiles >= FEW_FILES) return [];
  return [
    {
      name: "limits",
      outcome: "warning",
      detail: `a process may open only ${openFiles} files`,
      hint: "put `ulimit -n 65536` into setup, or ask for a higher limit",
    },
  ];
}
