import { randomInt } from "node:crypto";

const LONGEST_NAME = 30;
// No letter that is easily taken for another, or for a digit.
const LETTERS = "abcdefghjkmnpqrstvwxyz23456789";
const RANDOM_LETTERS = 6;

const randomWord = (): string =>
  Array.from({ length: RANDOM_LETTERS }, () => LETTERS.charAt(randomInt(LETTERS.length))).join("");

/**
 * `name-xxxxxx`: says what it is, and six random letters keep it apart. Lower-case letters, digits and single dashes, at
 * most 37 characters: with what launchers and evaluation jobs append it is still a legal job name everywhere.
 */
export const newRunId = (name: string, random: string = randomWord()): string => {
  const word = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+/, "")
    .slice(0, LONGEST_NAME)
    .replace(/-+$/, "");
  return `${word === "" ? "run" : word}-${random}`;
};
