import type { Run } from "../track/index.ts";
import { visibleForeign } from "./visible.ts";

/** `run ID is failed: …`; the reason may hold what a program printed. */
export const runLine = ({ id, state, reason }: Pick<Run, "id" | "state" | "reason">): string =>
  reason === state ? `run ${id} is ${state}` : `run ${id} is ${state}: ${visibleForeign(reason)}`;
