import type { Clock } from "../../core/clock.ts";
import type { Check } from "../schema.ts";

/** One question to the provider; what follows a failed one that is `needed` is not asked. */
export interface Step {
  readonly name: string;
  readonly ask: () => Promise<Check>;
  readonly needed?: boolean;
}

/** All of them, one after the other. */
export const askAll = async (steps: readonly Step[], done: Check[] = []): Promise<readonly Check[]> => {
  for (const { ask, needed } of steps) {
    const check = await ask();
    done.push(check);
    if (needed === true && check.outcome === "failed") break;
  }
  return done;
};

/** Seconds that a person at the terminal waits for all answers together. */
const PATIENCE = 20;

/** The same for a person who waits: what is not answered in time is a failed check, and nothing more is asked. */
export const askInTime = async (steps: readonly Step[], clock: Clock): Promise<readonly Check[]> => {
  const done: Check[] = [];
  const over = new AbortController();
  const late = clock.sleep(PATIENCE * 1000, over.signal).then(
    (): readonly Check[] => [
      ...done,
      {
        name: steps[done.length]?.name ?? "sagemaker",
        outcome: "failed",
        detail: `the service did not answer in ${PATIENCE} s`,
        hint: "see whether its endpoint can be reached from here: region: of the profile, a proxy, a VPN",
      },
    ],
    (): readonly Check[] => done,
  );
  try {
    return await Promise.race([askAll(steps, done), late]);
  } finally {
    over.abort();
  }
};
