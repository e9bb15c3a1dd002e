import { z } from "zod";

/** What sbatch takes as the value of an option that has no further form: nothing is left out, and nothing breaks the line. */
export const SlurmWord = z.string().regex(/^[^\s\p{Cc}]+$/u, "must be one word");

/** Wall-clock limit as sbatch takes it. */
export const SlurmTime = z
  .string()
  .regex(
    /^(\d+|\d+:\d\d(:\d\d)?|\d+-\d+(:\d\d(:\d\d)?)?)$/,
    "must be a Slurm time such as 12:00:00 or 2-00:00:00",
  );

/** As sbatch reads it: whole numbers, mebibytes without a unit. */
export const SlurmMemory = z
  .string()
  .regex(
    /^\d+([KMGT]B?)?$/i,
    "must be a whole number and K, M, G or T such as 900G, or 0 for all of the node",
  );

const GRES = String.raw`(gres[:/])?[A-Za-z]\w*(:[\w.+-]+)?([:=]\d+[KMGTP]?)?`;

/** `gpu:8`, `gpu:h100:8,nvme:1`: of each resource its name, its type where it has one, and how many. */
export const SlurmGres = z
  .string()
  .regex(
    new RegExp(`^${GRES}(,${GRES})*$`, "i"),
    "must be NAME:COUNT or NAME:TYPE:COUNT such as gpu:h100:8, several with commas",
  );

export const SlurmNode = z
  .string()
  .regex(
    /^[A-Za-z0-9._-]+(\[[0-9,-]+\])?[A-Za-z0-9._-]*$/,
    "must be the name of a node such as n7 or n[11-12]",
  );

/** One more option of sbatch. */
export const SlurmOption = z
  .string()
  .regex(
    /^--[a-z][a-z-]*(=[^\n\0]*)?$/,
    "must be one long sbatch option such as --mail-type=END, on one line",
  );
