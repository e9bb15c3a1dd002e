import type { Check } from "../schema.ts";
import type { FarFacts, FolderFact, Quota } from "./facts.ts";

/** Something that is going to be written below a folder. */
export interface DiskNeed {
  readonly folder: string;
  readonly bytes: number;
  readonly files: number;
  /** Completes a sum: `10 checkpoints × 127.0 GB`, `22.4 GB for 5 files of the model`. */
  readonly text: string;
}

/** Space, files and quota of each filesystem against what is going to be written on it, and whether its folders can be written. */
export const diskChecks = (facts: FarFacts, needs: readonly DiskNeed[]): readonly Check[] => [
  ...unwritable(facts.folders.filter(({ writable }) => !writable)),
  ...filesystems(facts.folders).flatMap((folders) => {
    const [place] = folders;
    if (place === undefined) return [];
    const here = needs.filter(({ folder }) => folders.some((fact) => fact.folder === folder));
    return [
      spaceCheck(place, here),
      ...inodeCheck(place, here),
      ...facts.quotas.filter((quota) => isOf(quota, place)).flatMap((quota) => quotaChecks(quota, here)),
    ];
  }),
];

function filesystems(folders: readonly FolderFact[]): readonly (readonly FolderFact[])[] {
  const groups = new Map<string, FolderFact[]>();
  for (const fact of folders) {
    const key = `${fact.device}\n${fact.mount}`;
    groups.set(key, [...(groups.get(key) ?? []), fact]);
  }
  return [...groups.values()];
}

// Folders of one profile mostly lie together: one mistake is one check, with all that it keeps from being made.
function unwritable(folders: readonly FolderFact[]): readonly Check[] {
  if (folders.length === 0) return [];
  const parents = [...new Set(folders.map(({ nearest }) => nearest))];
  const parts = parents.map((parent) => {
    const below = folders.filter(({ folder, nearest }) => nearest === parent && folder !== parent);
    if (below.length === 0) return `${parent} cannot be written`;
    const names = inWords(below.map(({ folder }) => folder));
    const verb = below.length === 1 ? "is" : "are";
    return `${parent} cannot be written, and ${names} ${verb} not there`;
  });
  return [
    {
      name: "folders",
      outcome: "failed",
      detail: parts.join("; "),
      hint: "change mode or group of what cannot be written, or choose other folders in the profile's paths",
    },
  ];
}

const inWords = (words: readonly string[]): string =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1) ?? ""}`;

function spaceCheck({ mount, nearest, freeBytes }: FolderFact, needs: readonly DiskNeed[]): Check {
  const name = `disk ${mount === "" ? nearest : mount}`;
  if (freeBytes === null) return { name, outcome: "unknown", detail: "df does not tell how much is free" };
  return compared(name, { has: `${sizeText(freeBytes)} free`, room: freeBytes }, needs, "bytes");
}

function inodeCheck({ mount, freeInodes }: FolderFact, needs: readonly DiskNeed[]): readonly Check[] {
  if (freeInodes === null) return [];
  return [
    compared(
      `files ${mount}`,
      { has: `room for ${countText(freeInodes)}`, room: freeInodes },
      needs,
      "files",
    ),
  ];
}

function quotaChecks(quota: Quota, needs: readonly DiskNeed[]): readonly Check[] {
  const { filesystem, usedBytes, limitBytes, usedFiles, limitFiles } = quota;
  const checks: Check[] = [];
  if (limitBytes !== null) {
    const room = Math.max(0, limitBytes - usedBytes);
    const has = `${sizeText(room)} of a quota of ${sizeText(limitBytes)} left`;
    checks.push(compared(`quota ${filesystem}`, { has, room }, needs, "bytes"));
  }
  if (limitFiles !== null) {
    const room = Math.max(0, limitFiles - usedFiles);
    const has = `${countText(room)} of a quota of ${countText(limitFiles)} left`;
    checks.push(compared(`quota files ${filesystem}`, { has, room }, needs, "files"));
  }
  return checks;
}

// NFS: server:/export as df has it. Lustre names the folder that was asked about.
function isOf({ filesystem }: Quota, { device, mount, nearest }: FolderFact): boolean {
  return filesystem === device || filesystem === mount || filesystem === nearest;
}

function compared(
  name: string,
  { has, room }: { readonly has: string; readonly room: number },
  needs: readonly DiskNeed[],
  what: "bytes" | "files",
): Check {
  const need = needs.reduce((sum, one) => sum + one[what], 0);
  if (need === 0) return room === 0 ? full(name, has) : { name, outcome: "ok", detail: `has ${has}` };
  const parts = needs
    .filter((one) => one[what] > 0)
    .map((one) => (what === "bytes" ? one.text : countText(one.files)));
  const total = what === "bytes" ? sizeText(need) : countText(need);
  const sum = parts.length > 1 || parts[0] !== total ? ` = ${parts.join(" + ")}` : "";
  const detail = `needs ${total}${sum}, has ${has}`;
  const hint =
    what === "bytes"
      ? "free some space, keep fewer checkpoints, or choose another disk in the profile's paths"
      : "delete folders with many small files, e.g. old environments, or choose another disk in the profile's paths";
  return need <= room ? { name, outcome: "ok", detail } : { name, outcome: "failed", detail, hint };
}

function full(name: string, has: string): Check {
  return {
    name,
    outcome: "failed",
    detail: `has ${has}`,
    hint: "free some, or choose another disk in the profile's paths",
  };
}

const UNITS = [
  [1e12, "TB"],
  [1e9, "GB"],
  [1e6, "MB"],
  [1e3, "kB"],
] as const;

/** Decimal units, one digit: `1.9 TB`. */
export const sizeText = (bytes: number): string => {
  const [size, unit] = UNITS.find(([least]) => bytes >= least) ?? [1, "bytes"];
  return unit === "bytes" ? `${bytes} bytes` : `${(bytes / size).toFixed(1)} ${unit}`;
};

function countText(count: number): string {
  return `${count.toLocaleString("en-US")} files`;
}
