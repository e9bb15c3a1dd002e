import { messageOf, systemPath, systemText, UnderstudyError } from "../core/errors.ts";
import type { Secrets } from "../core/secrets.ts";
import { systemHint } from "./exit-codes.ts";
import { spoken } from "./program-name.ts";
import { styleFor } from "./style.ts";
import { visibleForeign } from "./visible.ts";
import type { World } from "./world.ts";

const BUG_HINT =
  "this is a bug in Understudy: run the command again with UNDERSTUDY_DEBUG=1 and send its output to the maintainers";

/** Tells a person (stderr) or, under `--json`, a script (stdout) what went wrong. */
export const printError = (thrown: unknown, world: World, secrets: Secrets, json: boolean): void => {
  const found = described(thrown);
  const { code } = found;
  const message = spoken(found.message, world.program);
  const hint = found.hint === undefined ? undefined : spoken(found.hint, world.program);
  if (json) {
    const error = { code, message, ...(hint === undefined ? {} : { hint }) };
    world.stdout.write(`${secrets.mask(JSON.stringify({ error }, null, 2))}\n`);
    return;
  }
  const style = styleFor(world.stderr, world.environment);
  const lines = [`${style.red("error:")} ${visibleForeign(message)}`];
  if (hint !== undefined) lines.push(`${style.bold("hint:")} ${visibleForeign(hint)}`);
  if (world.environment["UNDERSTUDY_DEBUG"] === "1" && isBug(thrown)) lines.push(stackOf(thrown));
  world.stderr.write(`${secrets.mask(lines.join("\n"))}\n`);
};

function described(thrown: unknown): { code: string; message: string; hint: string | undefined } {
  if (thrown instanceof UnderstudyError) {
    const hint = thrown.hint ?? (thrown.actor === "bug" ? BUG_HINT : undefined);
    return { code: thrown.code, message: thrown.message, hint };
  }
  const hint = systemHint(thrown);
  if (hint === undefined) return { code: "BUG", message: messageOf(thrown), hint: BUG_HINT };
  const path = systemPath(thrown);
  const text = systemText(thrown);
  return { code: "SYSTEM", message: path === undefined ? text : `${path}: ${text}`, hint };
}

function isBug(thrown: unknown): boolean {
  return thrown instanceof UnderstudyError ? thrown.actor === "bug" : systemHint(thrown) === undefined;
}

function stackOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  const cause = thrown.cause === undefined ? "" : `\ncaused by ${stackOf(thrown.cause)}`;
  return `${thrown.stack ?? thrown.message}${cause}`;
}
