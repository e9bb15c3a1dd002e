import type { AnswerRow, Instance, MeasureRow, ScoreRow } from "../../src/evaluate/index.ts";
import { seededRandom } from "../../src/stats/index.ts";
import type { ReportRole } from "../../src/report/index.ts";
import { EXCHANGES } from "./sample-texts.ts";

/** How much a system gains over the base model, in nats per token, by suite. */
export interface SampleSystem {
  readonly id: string;
  readonly gain: { readonly "test/seen": number; readonly "test/unseen": number };
  /** Which of the three sample answers it gives. */
  readonly voice: 0 | 1 | 2;
}

/** Two dialogues a role: one turn, and two turns. */
export const sampleInstances = (roles: readonly ReportRole[]): readonly Instance[] =>
  roles.flatMap(({ id, language }) => [
    { dialogue: `${id}-single-0`, role: id, language, kind: "single", turn: 0 } as const,
    { dialogue: `${id}-multi-0`, role: id, language, kind: "multi", turn: 0 } as const,
    { dialogue: `${id}-multi-0`, role: id, language, kind: "multi", turn: 1 } as const,
  ]);

/** Which exchange a turn shows. */
export const exchangeOf = ({ language, kind, turn }: Instance): (typeof EXCHANGES)["en"][number] => {
  const exchange = EXCHANGES[language][kind === "single" ? 0 : turn + 1];
  if (exchange === undefined) throw new Error(`No sample text for turn ${turn}`);
  return exchange;
};

/** A number in (-1.5, 1.5) that looks normal and depends only on its name. */
export const noise = (name: string): number => {
  let seed = 7;
  for (const character of name) seed = (seed * 31 + (character.codePointAt(0) ?? 0)) % 2_147_483_647;
  const random = seededRandom(seed);
  const uniform = (): number => random.uint32() / 2 ** 32;
  return uniform() + uniform() + uniform() - 1.5;
};

export const sampleScore = (
  at: Instance,
  { id, gain }: SampleSystem,
  suite: "test/seen" | "test/unseen",
): ScoreRow => {
  const tokens = Math.max(6, Math.round(exchangeOf(at).role.length / (at.language === "zh" ? 1.6 : 4.4)));
  const level = 2.9 + 0.4 * noise(`role ${at.role}`) + 0.3 * noise(`turn ${at.dialogue} ${at.turn}`);
  const gained =
    id === "base"
      ? 0
      : gain[suite] * (1 + 0.5 * noise(`gain ${id.length % 2} ${at.role}`)) +
        0.08 * noise(`${id} ${at.dialogue} ${at.turn}`);
  return { ...at, tokens, nll: Number((tokens * (level - gained)).toFixed(6)) };
};

export const sampleAnswer = (at: Instance, system: SampleSystem): AnswerRow => {
  const text = exchangeOf(at).answers[system.voice];
  return {
    ...at,
    text,
    audio: `audio/${at.dialogue}-${at.turn}.wav`,
    sha256: null,
    seconds: sampleSeconds(at, system),
    textTokens: Math.ceil(text.length / 4),
    latencySeconds: 0.8,
    failure: null,
  };
};

export const sampleSeconds = (at: Instance, { id }: SampleSystem): number =>
  Number((0.9 + 0.3 * noise(`length ${id} ${at.dialogue} ${at.turn}`)).toFixed(2));

export const sampleMeasures = (at: Instance, system: SampleSystem): readonly MeasureRow[] => {
  const vary = (name: string): number => noise(`${name} ${system.id} ${at.dialogue} ${at.turn}`);
  const row = (measure: string, unit: string, value: number | null): MeasureRow => ({
    ...at,
    measure,
    unit,
    value: value === null ? null : Number(value.toFixed(6)),
    reason: value === null ? "no voiced frame" : null,
  });
  return [
    row("duration", "s", sampleSeconds(at, system)),
    row("silence_share", "1", 0.14 + 0.06 * vary("silence")),
    row("clipped_share", "1", 0),
    row("characters_per_second", "1/s", 13 + 3 * vary("rate")),
    row("f0_spread", "semitones", vary("voiced") < -1.1 ? null : 3.1 + 0.9 * vary("f0")),
    row("dnsmos_ovrl", "MOS", 3.05 + 0.25 * vary("dnsmos")),
  ];
};
