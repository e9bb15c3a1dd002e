import { join } from "node:path";
import type { Shop } from "./shop.ts";

/** Where this machine keeps what belongs to a run: all of it for a run that is here, copies and notes for others. */
export const runFolder = ({ project }: Pick<Shop, "project">, runId: string): string =>
  join(project.state, "runs", runId);
