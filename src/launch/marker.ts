import { sha256 } from "../core/hash.ts";

// The narrowest rule of all launchers (SageMaker's training job names).
const LONGEST = 63;
const MARKER = /^[a-zA-Z0-9](-*[a-zA-Z0-9])*$/;

/** True when every launcher can use this text as a job's name. */
export const isMarker = (text: string): boolean => text.length <= LONGEST && MARKER.test(text);

/**
 * The name of an attempt on the far side: the same run and number give the same marker, so that a lost reply can be
 * settled by looking for it. A long or odd run id is shortened and told apart by its digest.
 */
export const markerOf = (runId: string, attempt: number): string => {
  const plain = `us-${runId}-a${attempt}`;
  if (isMarker(plain)) return plain;
  const tail = `-${sha256(runId).slice(0, 8)}-a${attempt}`;
  const legal = runId.replace(/[^a-zA-Z0-9]+/g, "-").replace(/^-/, "");
  return `us-${legal.slice(0, LONGEST - 3 - tail.length)}`.replace(/-+$/, "") + tail;
};
