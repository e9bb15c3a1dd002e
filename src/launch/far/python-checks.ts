import type { FarProfile } from "../profile.ts";
import type { Check } from "../schema.ts";
import type { FarFacts } from "./facts.ts";

/** The interpreter that an environment is made from, and the wheels it is made of. None where an image brings its own. */
export const pythonChecks = (facts: FarFacts, profile: FarProfile): readonly Check[] => {
  if (profile.container === undefined)
    return [interpreterCheck(facts, profile), ...wheelChecks(facts, profile)];
  // On the host, only the download of the model needs one; any Python 3 does.
  const { stage } = profile;
  return stage.model === "node-download" || Object.values(stage).includes("s3")
    ? [hostCheck(facts, profile)]
    : [];
};

const NAME = "python";
const HINT =
  "install Python 3.10 or newer there, load one in setup, or name one in the profile: python: /path/to/python3";

function interpreterCheck(facts: FarFacts, profile: FarProfile): Check {
  const { python, environment, glibc, machine } = facts;
  if (python === null) return silentCheck(facts, profile);
  const { version, path, venv } = python;
  const found = `Python ${version} (${path})`;
  if (!isNewEnough(version)) {
    const detail = `${path} is Python ${version}; the payload needs 3.10 or newer`;
    return { name: NAME, outcome: "failed", detail, hint: HINT };
  }
  if (environment !== null)
    return { name: NAME, outcome: "ok", detail: `${found}; the environment is made already` };
  if (!venv) {
    const detail = `${found} cannot make virtual environments: venv or ensurepip is missing`;
    return { name: NAME, outcome: "failed", detail, hint: "on Debian and Ubuntu: apt install python3-venv" };
  }
  const libc = glibc === null ? "no glibc" : `glibc ${glibc}`;
  return { name: NAME, outcome: "ok", detail: `${found}, ${libc}, ${machine}` };
}

function silentCheck({ pythonError, environment }: FarFacts, { python }: FarProfile): Check {
  const detail = `${python} does not run: ${pythonError ?? "no answer"}`;
  return environment === null
    ? { name: NAME, outcome: "failed", detail, hint: HINT }
    : { name: NAME, outcome: "warning", detail: `${detail}; the environment is made already`, hint: HINT };
}

function hostCheck(facts: FarFacts, profile: FarProfile): Check {
  const { python } = facts;
  return python === null
    ? silentCheck({ ...facts, environment: null }, profile)
    : {
        name: NAME,
        outcome: "ok",
        detail: `Python ${python.version} (${python.path}) fetches ${profile.stage.model === "node-download" ? "the model" : "from S3"}`,
      };
}

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 3 || (major === 3 && minor >= 10);
}

function wheelChecks({ wheels, environment }: FarFacts, { wheelhouse }: FarProfile): readonly Check[] {
  if (wheelhouse === undefined || wheels === null || environment !== null) return [];
  const name = "wheelhouse";
  const detail = `${wheels} wheels in ${wheelhouse}`;
  return wheels > 0
    ? [{ name, outcome: "ok", detail: `${detail}; whether they fit is seen when the environment is made` }]
    : [{ name, outcome: "failed", detail, hint: "put the wheels of the payload's lock files there" }];
}
