import { z } from "zod";

/** What a reply says: two scores from 1 to 10 in the order they were heard, or why there are none. */
export type ParsedVerdict =
  | {
      readonly status: "scored";
      readonly first: number;
      readonly second: number;
      readonly rationale: string;
    }
  | { readonly status: "unscored"; readonly reason: UnscoredReason };

export type UnscoredReason = "empty_response" | "no_match" | "truncated_last_marker" | "out_of_range";

interface Marker {
  readonly at: number;
  /** Null: it looks like a marker and cannot be read. */
  readonly scores: readonly [number, number] | null;
}

const MARKER = /\[\s*scores\s*\][\s*_]*:?[\s*_]*/gi;
const PAIR = /^\(\s*(\d+(?:\.\d+)?)\s*,\s*(\d+(?:\.\d+)?)\s*\)/;
const FENCED = /```(?:json)?\s*(\{[\s\S]*?\})\s*```/gi;
const JsonScores = z.object({
  rationale: z.string().optional(),
  scores: z.object({ a: z.number(), b: z.number() }),
});

/**
 * Reads a judge's reply. The last well-formed marker wins, because earlier ones may be quoted speech; a malformed marker
 * after it means that the reply was cut or taken back. Full-width brackets, bold markers, decimals and JSON are read. There
 * is never a default score.
 */
export const parseVerdict = (reply: string): ParsedVerdict => {
  const text = reply.normalize("NFKC").replace(/[\u200b-\u200d\ufeff]/g, "");
  if (text.trim() === "") return unscored("empty_response");
  const markers = [...textMarkers(text), ...jsonMarkers(text)].toSorted((a, b) => a.at - b.at);
  const good = markers.findLast(({ scores }) => scores !== null);
  if (good?.scores === undefined || good.scores === null) return unscored("no_match");
  if (markers.at(-1) !== good) return unscored("truncated_last_marker");
  const [first, second] = good.scores;
  if (!inRange(first) || !inRange(second)) return unscored("out_of_range");
  return { status: "scored", first, second, rationale: rationaleOf(text, good.at) };
};

const unscored = (reason: UnscoredReason): ParsedVerdict => ({ status: "unscored", reason });

const inRange = (score: number): boolean => score >= 1 && score <= 10;

function textMarkers(text: string): Marker[] {
  return [...text.matchAll(MARKER)].map((match) => {
    const pair = PAIR.exec(text.slice(match.index + match[0].length));
    return { at: match.index, scores: pair ? [Number(pair[1]), Number(pair[2])] : null };
  });
}

function jsonMarkers(text: string): Marker[] {
  const blocks = text.trim().startsWith("{")
    ? [{ at: 0, json: text.trim() }]
    : [...text.matchAll(FENCED)].map((match) => ({ at: match.index, json: match[1] ?? "" }));
  return blocks.flatMap(({ at, json }) => {
    const scores = jsonScores(json);
    return scores === null ? [] : [{ at, scores }];
  });
}

function jsonScores(json: string): readonly [number, number] | null {
  try {
    const { scores } = JsonScores.parse(JSON.parse(json));
    return [scores.a, scores.b];
  } catch {
    return null;
  }
}

function rationaleOf(text: string, at: number): string {
  const before = text.slice(0, at).trim();
  return before === "" ? text.trim() : before;
}
