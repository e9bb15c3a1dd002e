import { SPLITS, type DatasetLock, type LockedRole } from "../../../dataset/index.ts";
import { bytesText, countText, secondsText } from "../../quantities.ts";
import type { Style } from "../../style.ts";
import { pairLines, tableLines } from "../../table.ts";
import { wrap } from "../../wrap.ts";
import { dropTable } from "./drop-table.ts";
import { findRole } from "./find-role.ts";
import { gateLines } from "./gate-lines.ts";
import type { Scene } from "./show.ts";
import { summaryOf } from "./summary.ts";

// A data set that was pulled may have come without its spec.
const UNREADABLE = { description: "its spec cannot be read now", licence: "not known now" };
const UNKNOWN = { description: "pulled without its spec", licence: "see its card" };

/** The whole data set: splits, languages, roles, what was left out, gates. */
export const showOverview = ({ name, lock, spec, context: { print, columns } }: Scene): void => {
  const { description, licence } = spec.spec?.spec ?? (spec.changed ? UNREADABLE : UNKNOWN);
  const { sourceRevision, codec, roles, drops, gates, statistics, nearDuplicates } = lock;
  const look: Look = { style: print.style, columns };
  const wrapped = (line: string): string[] => wrap(line, columns);
  const value = {
    name,
    description,
    licence,
    // Then both are of the spec as it is now, and all the rest of what was packed.
    specChanged: spec.changed,
    sourceRevision,
    codec,
    ...summaryOf(lock),
    roles,
    drops,
    nearDuplicates,
    gates,
    statistics,
  };
  print.result(value, () => [
    ...wrap(`${name}: ${description}`, columns),
    ...pairLines(
      [
        ["licence", licence],
        ["source", `revision ${sourceRevision}`],
        ["clips", codec === "flac" ? "FLAC" : "WAV"],
      ],
      columns,
    ),
    "",
    ...splitLines(lock, look),
    "",
    ...languageLines(lock, look),
    "",
    ...rolesLines(roles, look),
    "",
    ...leftOutLines(name, lock),
    "",
    ...gates.flatMap((gate) => gateLines(gate, `understudy dataset show ${name} --json`)).flatMap(wrapped),
    ...statisticLines(lock).flatMap(wrapped),
  ]);
};

/** One role, with what was left out of it. */
export const showRole = ({ name, lock, spec, context }: Scene, wanted: string): void => {
  const { print, columns } = context;
  const look: Look = { style: print.style, columns };
  const role = findRole(lock, wanted);
  const drops = lock.drops.list.filter((drop) => drop.role === role.stem || drop.role === role.id);
  print.result({ name, role, specChanged: spec.changed, drops }, () => [
    ...rolesLines([role], look),
    ...pairLines(
      [
        ["from", role.source],
        ["file stem", role.stem],
        ["profile", role.profileSha256 ?? "none"],
        ["voice", role.referenceClipSha256 ?? "none"],
        ...SPLITS.filter((split) => role.rows[split] > 0).map(
          (split) =>
            [split, `${countText(role.turns[split])} turns, ${tokensText(role.tokens[split])}`] as const,
        ),
        ["dropped", countText(drops.length)],
      ],
      columns,
    ),
    ...(drops.length === 0 ? [] : ["", ...dropTable(drops, look)]),
  ]);
};

interface Look {
  readonly style: Style;
  readonly columns: number;
}

// On a terminal; a pipe gets names whole.
const LONGEST_ROLE = 22;

const tokensText = ({ audio, labels }: LockedRole["tokens"]["train"]): string =>
  `${countText(audio)} audio and ${countText(labels)} label tokens`;

function splitLines(lock: DatasetLock, { style, columns }: Look): string[] {
  const { splits } = summaryOf(lock);
  const right = (title: string): { title: string; align: "right" } => ({ title, align: "right" });
  return tableLines({
    width: columns,
    columns: [
      { title: "split" },
      right("dialogues"),
      right("turns"),
      right("audio"),
      right("label tokens"),
      right("shards"),
      right("size"),
    ],
    rows: SPLITS.map((split) => {
      const { dialogues, turns, audioSeconds, labelTokens, shards, bytes } = splits[split];
      return [
        split,
        countText(dialogues),
        countText(turns),
        secondsText(audioSeconds),
        countText(labelTokens),
        countText(shards),
        bytesText(bytes),
      ];
    }),
    title: style.bold,
  });
}

// The mixture: what share of what a model learns is of each language.
function languageLines({ statistics }: DatasetLock, { style, columns }: Look): string[] {
  const present = Object.entries(statistics.languages).filter(([, { roles }]) => roles > 0);
  return tableLines({
    width: columns,
    columns: [
      { title: "language" },
      { title: "roles", align: "right" },
      ...SPLITS.map((split) => ({ title: split, align: "right" as const })),
      { title: "of train labels", align: "right" },
    ],
    rows: present.map(([language, { roles, rows, trainShare }]) => [
      language,
      countText(roles),
      ...SPLITS.map((split) => countText(rows[split])),
      `${(trainShare * 100).toFixed(1)} %`,
    ]),
    title: style.bold,
  });
}

function rolesLines(roles: readonly LockedRole[], { style, columns }: Look): string[] {
  return tableLines({
    width: columns,
    columns: [
      { title: "role", ...(Number.isFinite(columns) ? { most: LONGEST_ROLE } : {}) },
      { title: "id", below: true },
      { title: "language" },
      { title: "held out" },
      ...SPLITS.map((split) => ({ title: split, align: "right" as const })),
      { title: "train labels", align: "right" },
    ],
    rows: roles.map((role) => [
      role.name,
      role.id,
      role.language,
      role.heldOut ? "yes" : "no",
      ...SPLITS.map((split) => countText(role.rows[split])),
      countText(role.tokens.train.labels),
    ]),
    title: style.bold,
  });
}

/** Said wherever a person could take a split for free of them. */
export const NOT_LOOKED = "near-duplicates were not looked for: see datasets/README.md";

function leftOutLines(name: string, { drops, nearDuplicates }: DatasetLock): string[] {
  const reasons = Object.entries(drops.byReason);
  const unlooked = nearDuplicates === null ? [NOT_LOOKED] : [];
  if (reasons.length === 0) return ["nothing was dropped", ...unlooked];
  const near = nearDuplicates && nearDuplicates.removed.length > 0 ? ["near-duplicates: --near"] : [];
  return [
    "dropped",
    ...pairLines(reasons.map(([reason, count]) => [reason, countText(count)])),
    [`each of them: understudy dataset show ${name} --drops`, ...near].join("; "),
    ...unlooked,
  ];
}

// Worth knowing, and no fault.
function statisticLines(lock: DatasetLock): string[] {
  const { statistics } = lock;
  const { copiedAnswers, sameQuestion, clippedClips, quietClips, resampledClips } = statistics;
  return [
    ...referenceLines(lock),
    ...(copiedAnswers.turns > 0
      ? [
          `${countText(copiedAnswers.turns)} of ${countText(copiedAnswers.of)} test answers stand word for word in the script of the role card`,
        ]
      : []),
    ...(sameQuestion.pairs > 0
      ? [`${countText(sameQuestion.pairs)} questions stand in train and in test, with other answers`]
      : []),
    ...(clippedClips > 0 ? [`${countText(clippedClips)} clips touch full scale`] : []),
    ...(quietClips > 0 ? [`${countText(quietClips)} clips are silence for the most part`] : []),
    ...(resampledClips > 0
      ? [`${countText(resampledClips)} clips had another rate or several channels and were converted`]
      : []),
  ];
}

// Comparisons with references need all of them; one that stands nowhere is told by nobody's absence.
function referenceLines({ statistics: { answerClips }, splits }: DatasetLock): string[] {
  if (answerClips === undefined) return [];
  return SPLITS.flatMap((split) =>
    Object.entries(answerClips[split]).flatMap(([reference, count]) => {
      const { turns } = splits[split];
      return count === 0 || count === turns
        ? []
        : [`${reference} speaks ${countText(count)} of ${countText(turns)} answers in ${split}`];
    }),
  );
}
