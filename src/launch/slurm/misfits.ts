import type { Plan } from "../schema.ts";
import type { NodeKind, Partition } from "./partition.ts";

/** Something that a job asks for and no node of the partition has. */
export interface Misfit {
  /** Where it is set in a profile. */
  readonly key: "gres" | "memory" | "cpusPerTask";
  readonly text: string;
}

/**
 * What a command of sbatch asks for that no node of the partition has. Where each is there, and no node has all of it, all of it is
 * named. Empty where nothing is wrong, or nothing is known. Pure.
 */
export const misfitsOf = (command: Plan["argv"], partition: Partition): readonly Misfit[] => {
  const asked = WISHES.flatMap((wish) => {
    const value = valueOf(command, wish.option);
    return value === undefined ? [] : [{ ...wish, value }];
  });
  const { nodes } = partition;
  if (nodes.length === 0) return [];
  const nowhere = asked.filter(({ fits, value }) => !nodes.some((node) => fits(node, value)));
  const together = nodes.some((node) => asked.every(({ fits, value }) => fits(node, value)));
  const wrong = nowhere.length > 0 ? nowhere : together ? [] : asked;
  const whose =
    nowhere.length > 0 ? `the nodes of ${partition.name} have` : `some nodes of ${partition.name} have`;
  return wrong.map(({ key, value, has }) => ({ key, text: `${key} ${value}, ${whose} ${has(nodes)}` }));
};

interface Wish {
  readonly option: string;
  readonly key: Misfit["key"];
  readonly fits: (node: NodeKind, value: string) => boolean;
  readonly has: (nodes: readonly NodeKind[]) => string;
}

const WISHES: readonly Wish[] = [
  {
    option: "gres",
    key: "gres",
    fits: (node, value) => hasGres(node.gres, value),
    has: (nodes) => {
      const all = [...new Set(nodes.map(({ gres }) => (gres === "(null)" ? "none" : gres)))];
      return all.join(" or ");
    },
  },
  {
    option: "mem",
    key: "memory",
    fits: ({ memoryMebibytes }, value) => memoryMebibytes === null || mebibytes(value) <= memoryMebibytes,
    has: (nodes) => `${mostOf(nodes.map(({ memoryMebibytes }) => memoryMebibytes))}M at most`,
  },
  {
    option: "cpus-per-task",
    key: "cpusPerTask",
    fits: ({ cpus }, value) => cpus === null || Number(value) <= cpus,
    has: (nodes) => `${mostOf(nodes.map(({ cpus }) => cpus))} at most`,
  },
];

const valueOf = (command: Plan["argv"], option: string): string | undefined =>
  command.find((word) => word.startsWith(`--${option}=`))?.slice(option.length + 3);

const mostOf = (numbers: readonly (number | null)[]): number =>
  Math.max(0, ...numbers.map((one) => one ?? 0));

const UNITS = ["K", "M", "G", "T"];

// What cannot be read is not judged here.
function mebibytes(memory: string): number {
  const [, digits, letter = "M"] = /^(\d+)([KMGT]?)B?$/i.exec(memory) ?? [];
  const unit = UNITS.indexOf(letter === "" ? "M" : letter.toUpperCase());
  return digits === undefined ? 0 : Number(digits) * 1024 ** (unit - 1);
}

interface Resource {
  readonly name: string;
  /** Empty where any will do. */
  readonly type: string;
  readonly count: number;
}

function hasGres(node: string, wanted: string): boolean {
  if (wanted === "none") return true;
  const present = resourcesIn(node);
  return resourcesIn(wanted).every(({ name, type, count }) => {
    const fitting = present.filter((one) => one.name === name && (type === "" || one.type === type));
    return fitting.reduce((sum, one) => sum + one.count, 0) >= Math.max(1, count);
  });
}

// The sockets of a node's devices stand in brackets behind them, with commas of their own.
function resourcesIn(gres: string): readonly Resource[] {
  return gres
    .replaceAll(/\([^)]*\)/g, "")
    .split(",")
    .map((entry) => {
      const [name = "", ...rest] = entry
        .trim()
        .toLowerCase()
        .replace(/^gres[:/]/, "")
        .split(/[:=]/);
      const count = /^\d+[kmgtp]?$/.test(rest.at(-1) ?? "") ? rest.pop() : undefined;
      return { name, type: rest.join(":"), count: count === undefined ? 1 : amount(count) };
    });
}

const amount = (count: string): number => {
  const power = "kmgtp".indexOf(count.at(-1) ?? "") + 1;
  return Number.parseInt(count, 10) * 1024 ** power;
};
