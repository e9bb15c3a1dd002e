import { join } from "node:path";
import { z } from "zod";
import { readJson, exists, writeJson } from "../../core/files.ts";
import type { Project } from "../../core/project.ts";
import { Sha256 } from "../schema.ts";

/**
 * Where a data set lies on the Hub: `datasets/NAME.hub.json`, written by a push and by a pull. It stands beside the lock, not
 * in it: the lock names the bytes, recipes are tied to its digest, and that must not change because a copy was published.
 */
export const HubPin = z.strictObject({
  schemaVersion: z.literal(1),
  hub: z.string().describe("Address of the Hub"),
  repo: z.string().describe("OWNER/NAME"),
  revision: z.string().describe("Commit: a branch would mean other bytes tomorrow"),
  branch: z.string().nullable().describe("The branch that stood for this commit then"),
  lockSha256: Sha256.describe(
    "SHA-256 of datasets/NAME.lock.json then: another one means that it was packed anew",
  ),
});
export type HubPin = z.infer<typeof HubPin>;

export const pinFile = (project: Project, name: string): string => join(project.datasets, `${name}.hub.json`);

/** The pin of a data set; undefined when it was neither pushed nor pulled. UserErrors of `readJson`. */
export const readHubPin = async (project: Project, name: string): Promise<HubPin | undefined> => {
  const path = pinFile(project, name);
  return (await exists(path)) ? readJson(path, HubPin) : undefined;
};

export const writeHubPin = async (project: Project, name: string, pin: HubPin): Promise<void> =>
  writeJson(pinFile(project, name), pin);
