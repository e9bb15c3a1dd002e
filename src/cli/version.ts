import { readFile } from "node:fs/promises";
import { InternalError } from "../core/errors.ts";

/** Version of the package this code belongs to; the same two folders up from src/cli and dist/cli. */
export const packageVersion = async (): Promise<string> => {
  const text = await readFile(new URL("../../package.json", import.meta.url), "utf8");
  const parsed: unknown = JSON.parse(text);
  if (
    typeof parsed === "object" &&
    parsed !== null &&
    "version" in parsed &&
    typeof parsed.version === "string"
  )
    return parsed.version;
  throw new InternalError("VERSION_MISSING", "package.json has no version");
};
