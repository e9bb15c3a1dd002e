/** Names of clips inside one report; what they sound like is looked up when the report is written. */
interface At {
  readonly dialogue: string;
  readonly turn: number;
}

export const userAudio = ({ dialogue, turn }: At): string => JSON.stringify(["user", dialogue, turn]);

export const referenceAudio = ({ dialogue, turn }: At, label: string): string =>
  JSON.stringify(["reference", dialogue, turn, label]);

export const answerAudio = (system: string, { dialogue, turn }: At): string =>
  JSON.stringify(["answer", system, dialogue, turn]);
