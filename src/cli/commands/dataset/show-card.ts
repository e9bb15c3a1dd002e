import { join, resolve } from "node:path";
import { UserError } from "../../../core/errors.ts";
import { readIfExists, writeAtomic } from "../../../core/files.ts";
import { publishedCard } from "../../../dataset/index.ts";
import { PLAIN_CARD } from "./push.ts";
import type { Scene } from "./show.ts";

/** Writes the card that a push would publish: README.md, and the drawings that it shows. UserError `CARD_EXISTS`. */
export const showCard = async (
  { name, project, lock, context }: Scene,
  where: string,
  repo: string,
): Promise<void> => {
  const { print, cwd, signal } = context;
  const folder = resolve(cwd, where);
  const { text, plots, plainBecause } = await publishedCard(project, lock, { repo, signal });
  const files = [
    ...plots.map(({ path, svg }) => ({ path, content: svg })),
    { path: "README.md", content: text },
  ];
  const before = await readIfExists(join(folder, "README.md"));
  if (before !== undefined && before !== text)
    throw new UserError(
      "CARD_EXISTS",
      `${join(folder, "README.md")} is there already, and says something else`,
      {
        hint: "name another folder, or delete that file",
      },
    );
  for (const { path, content } of files) await writeAtomic(join(folder, path), content);
  const written = files.map(({ path }) => join(folder, path));
  print.result({ name, written }, () => written);
  if (plainBecause !== null) print.warn(PLAIN_CARD[plainBecause](name));
};
