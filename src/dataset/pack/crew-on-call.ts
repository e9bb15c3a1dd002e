import { openCrew, type Crew, type Threads } from "./crew.ts";
import type { HandSetup } from "./hand.ts";

/** A crew that is there when it is needed. Close it. */
export interface CrewOnCall {
  /** Has its threads load while this one does something else. */
  begin(): void;
  open(): Promise<Crew>;
  close(): Promise<void>;
}

/** A crew for one pack, opened once: now, or when the work begins. */
export const crewOnCall = (setup: HandSetup, threads: Threads | undefined): CrewOnCall => {
  let crew: Promise<Crew> | undefined;
  const open = async (): Promise<Crew> => (crew ??= openCrew(setup, threads));
  return {
    begin: () => {
      // What is wrong is said to whoever opens it.
      if (threads) open().catch(() => undefined);
    },
    open,
    close: async () => (await crew?.catch(() => undefined))?.close(),
  };
};
