import type { Instance } from "./schema.ts";

/** Equal for the same role turn, whatever row it stands in. */
export const instanceKey = ({ dialogue, turn }: Pick<Instance, "dialogue" | "turn">): string =>
  `${turn} ${dialogue}`;

/** Dialogue id, then turn: the one order of rows. */
export const byInstance = (
  a: Pick<Instance, "dialogue" | "turn">,
  b: Pick<Instance, "dialogue" | "turn">,
): number => (a.dialogue < b.dialogue ? -1 : a.dialogue > b.dialogue ? 1 : a.turn - b.turn);
