import { rmSync } from "node:fs";

const PATIENCE = 50;

/**
 * Removes a folder of a test in which a process that was just killed may still make files. The retries of `rmSync` itself do
 * not help there: they try the emptied folder again, but never look for what came into it meanwhile.
 */
export const removeFolder = (folder: string): void => {
  for (let tries = 1; ; tries += 1) {
    try {
      rmSync(folder, { recursive: true, force: true });
      return;
    } catch (error) {
      if (tries === PATIENCE) throw error;
      // A test's end is synchronous in many places, so this waits without giving way.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20 * Math.min(tries, 10));
    }
  }
};
