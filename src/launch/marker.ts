import { sha256 } from "../core/hash.ts";

// The narrowest rule of all launchers (SageMaker's training job names).
const LONGEST = 63;
const MARKER = /^[a-zA-Z0-9](-*[a-zA-Z0-9])*$/;
// A far machine numbers attempts by itself: all of a run's markers begin with one stem, whatever the number's length.
const WIDEST = "-a99999";

/** True when every launcher can use this text as a job's name. */
export const isMarker = (text: string): boolean => text.length <= LONGEST && MARKER.test(text);

/**
 * The name of an attempt on the far side: the same run and number give the same marker, so that a lost reply can be
 * settled by looking for it. A long or odd run id is shortened and told apart by its digest.
 */
export const markerOf = (runId: string, attempt: number): string => `${markerStem(runId)}-a${attempt}`;

/** What the markers of all attempts of a run begin with. */
export const markerStem = (runId: string): string => {
  const plain = `us-${runId}`;
  if (isMarker(plain + WIDEST)) return plain;
  const digest = `-${sha256(runId).slice(0, 8)}`;
  const legal = runId.replace(/[^a-zA-Z0-9]+/g, "-").replace(/^-/, "");
  const room = LONGEST - 3 - digest.length - WIDEST.length;
  return `us-${legal.slice(0, room)}`.replace(/-+$/, "") + digest;
};
