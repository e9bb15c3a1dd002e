import { valueIn } from "../../core/issues.ts";

const LONGEST = 40;

/**
 * What a person can look for in the source to find a dialogue: its own id, where it has one, and the beginning of its
 * first question; else the beginning of its JSON. It says nothing of its position, which may change.
 */
export const labelOf = (raw: unknown): string => {
  const first = (...paths: (readonly PropertyKey[])[]): unknown =>
    paths.map((path) => valueIn(raw, path)).find((value) => value !== undefined && value !== null);
  const id = idText(first(["dialogue_id"], ["id"]));
  const question = first(["turns", 0, "user_text"], ["dialogue", 0, "user"]);
  const asked = typeof question === "string" && question.trim() !== "" ? beginning(question) : "";
  const label = [id, asked].filter((part) => part !== "").join(" ");
  return label === "" ? beginning(jsonText(raw)) : label;
};

/** The first words of a text, quoted, on one line. */
export const beginning = (text: string): string => JSON.stringify(cut(text.trim()));

function idText(value: unknown): string {
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  return typeof value === "string" ? cut(value.trim().replaceAll(/\s+/g, " ")) : "";
}

// By characters: half a surrogate pair is none.
function cut(text: string): string {
  const characters = Array.from(text.slice(0, LONGEST * 2 + 2));
  return characters.length > LONGEST ? `${characters.slice(0, LONGEST).join("")}…` : text;
}

// Of a table it has the bytes of the audio, and whole numbers that JSON does not know.
const jsonText = (raw: unknown): string =>
  JSON.stringify(raw, (_, value: unknown) => {
    if (ArrayBuffer.isView(value)) return undefined;
    return typeof value === "bigint" ? String(value) : value;
  }) ?? "";
