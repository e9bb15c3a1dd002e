import { SPLITS, type LockedRole, type Split } from "../schema.ts";
import type { CardParts } from "./front-matter.ts";
import { code, count, duration, inline, paragraph, size, table } from "./markdown.ts";

const WHAT: Readonly<Record<Split, string>> = {
  train: "roles that are seen in training",
  dev: "the same kind of dialogues, never trained on, for choosing checkpoints",
  ood: "training-type dialogues of the held-out roles",
  test: "sessions of all roles; open it once, at the end",
};

/** What the data is, in one paragraph and one line of numbers. */
export const aboutSection = ({ lock, spec, facts }: CardParts): string => {
  const all = SPLITS.map((split) => facts.splits[split]);
  const rows = sum(all.map((split) => split.rows));
  const turns = sum(all.map((split) => split.turns));
  const seconds = sum(SPLITS.map((split) => lock.splits[split].audioSeconds));
  const spoken = [...new Set(lock.roles.map((role) => (role.language === "en" ? "English" : "Chinese")))];
  return `# ${inline(lock.name)}

${paragraph(spec.description)}

**${count(rows)} spoken dialogues** with ${count(turns)} turns and ${duration(seconds)} of audio, of ${count(lock.roles.length)} roles in ${spoken.toSorted().join(" and ")}. In each dialogue a person speaks to a role, and the role answers in character, in text and in one or more synthesized voices. A row is a dialogue: the role card (\`system_prompt\`), and for each turn the question and the answer as text and as audio (16 kHz, mono, 16 bits, ${lock.codec === "flac" ? "FLAC" : "WAV"}).`;
};

/** Splits with their numbers; those of the Parquet files are counted there. */
export const splitSection = ({ lock, facts }: CardParts): string => {
  const filled = SPLITS.filter((split) => facts.splits[split].shards > 0);
  const rows = filled.map((split) => {
    const { rows: dialogues, turns, shards, fileBytes } = facts.splits[split];
    const { audioSeconds, userSeconds, tokens } = lock.splits[split];
    return [
      `\`${split}\``,
      WHAT[split],
      count(dialogues),
      count(turns),
      duration(audioSeconds),
      duration(userSeconds),
      count(tokens.labels),
      `${count(shards)} (${size(fileBytes)})`,
    ];
  });
  const titles = ["split", "what", "dialogues:", "turns:", "audio:", "of users:", "label tokens:", "shards:"];
  return `## Splits

${table(titles, rows)}

A dialogue is in one split only. Label tokens are those of the answers, estimated from characters.`;
};

/** Who the roles are, and which of them training never sees. */
export const roleSection = ({ lock, spec }: CardParts): string => {
  const heldOut = lock.roles.filter((role) => role.heldOut);
  const how = {
    spec: "The held-out roles are those that the maker of this data set named. Where the corpus is SpeechRole-Data, that list is inferred from a list in its authors' code and not confirmed by them.",
    seed: `The held-out roles were drawn by seed ${lock.seed}, in proportion over language and source.`,
    folds: `This is one fold of several: roles take turns being held out, in proportion over language and source (seed ${lock.seed}).`,
  }[spec.splits.by];
  const shown = heldOut.map((role) => inline(role.name)).join(", ");
  const details = table(
    ["role", "id", "language", "source", "held out", ...SPLITS.map((split) => `${split}:`), "train labels:"],
    lock.roles.map(roleRow),
  );
  return `## Roles

${count(lock.roles.length - heldOut.length)} roles are **seen** in training and ${count(heldOut.length)} are **held out**${heldOut.length > 0 ? `: ${shown}` : ""}. ${how} Whether a role is seen is a property of a checkpoint, namely of the rows that it was trained on; a run that trains on \`ood\` has seen them.

![Dialogues of each role by split; a ring marks held-out roles](card/roles.svg)

<details>
<summary>All ${count(lock.roles.length)} roles</summary>

${details}

</details>`;
};

function roleRow(role: LockedRole): readonly string[] {
  return [
    inline(role.name),
    code(role.id),
    role.language,
    inline(role.source),
    role.heldOut ? "yes" : "",
    ...SPLITS.map((split) => count(role.rows[split])),
    count(role.tokens.train.labels),
  ];
}

/** Lengths of clips, and languages as a recipe would see them. */
export const statisticsSection = ({ lock }: CardParts): string => {
  const { statistics } = lock;
  const languages = (["en", "zh"] as const).flatMap((language) => {
    const found = statistics.languages[language];
    if (!found || found.roles === 0) return [];
    return [
      [
        language,
        count(found.roles),
        ...SPLITS.map((split) => count(found.rows[split])),
        `${(found.trainShare * 100).toFixed(1)} %`,
      ],
    ];
  });
  return `## Statistics

![Clips by length in seconds, of users and of roles](card/durations.svg)

![Dialogues of each language by split](card/languages.svg)

${table(["language", "roles:", ...SPLITS.map((split) => `${split}:`), "of train labels:"], languages)}

Clips of 60 seconds and more are counted together in the last bar of the first drawing.`;
};

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
