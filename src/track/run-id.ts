import { randomBytes } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import { sha256 } from "../core/hash.ts";

const LONGEST_NAME = 30;

/** `YYYYMMDD-HHMMSS-name-xxxx`: sorts by time, says what it is, and four random characters keep it unique. */
export const newRunId = (
  name: string,
  clock: Clock,
  random: string = sha256(randomBytes(8)).slice(0, 4),
): string => {
  const time = new Date(clock.now()).toISOString();
  const stamp = `${time.slice(0, 10).replaceAll("-", "")}-${time.slice(11, 19).replaceAll(":", "")}`;
  const word = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, LONGEST_NAME)
    .replace(/-+$/, "");
  return `${stamp}-${word === "" ? "run" : word}-${random}`;
};
