import type { Clock } from "../core/clock.ts";
import { findProject, type Project } from "../core/project.ts";
import { secretsFrom, type Secrets } from "../core/secrets.ts";
import { printerFor, type Printer } from "./print.ts";
import { asTyped } from "./program-name.ts";
import { columnsOf, type World } from "./world.ts";

/** What a command's handler gets besides its arguments. */
export interface Context {
  readonly cwd: string;
  readonly environment: World["environment"];
  readonly clock: Clock;
  readonly fetch: typeof fetch;
  readonly signal: AbortSignal;
  readonly secrets: Secrets;
  readonly print: Printer;
  /** Columns for people's text. */
  readonly width: number;
  /** Columns that a table has to fit in: those of the terminal, any number in a pipe. */
  readonly columns: number;
  /** Our own words with command lines as this person has to type them; for texts that are wrapped. */
  typed(text: string): string;
  /** The project that a folder (default: where the person stands) lies in; `PROJECT_MISSING` outside of one. */
  project(folder?: string): Promise<Project>;
}

export const contextFor = (world: World, json: boolean): Context => {
  const secrets = secretsFrom(world.environment);
  return {
    cwd: world.cwd,
    environment: world.environment,
    clock: world.clock,
    fetch: world.fetch,
    signal: world.signal,
    secrets,
    print: printerFor(world, secrets, json),
    width: world.stdout.width,
    columns: columnsOf(world),
    typed: (text) => asTyped(text, world.program),
    project: (folder = world.cwd) => findProject(folder, world.environment["UNDERSTUDY_STATE"]),
  };
};
