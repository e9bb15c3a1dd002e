import { findSpec, SPLITS, type DatasetLock, type LockedRole } from "../../../dataset/index.ts";
import { bytesText, countText, secondsText } from "../../quantities.ts";
import type { Style } from "../../style.ts";
import { pairLines, tableLines } from "../../table.ts";
import { gateLine } from "./check.ts";
import { findRole } from "./find-role.ts";
import type { Scene } from "./show.ts";
import { dropTable } from "./show-left-out.ts";
import { summaryOf } from "./summary.ts";

// A data set that was pulled may have come without its spec.
const UNKNOWN = { description: "pulled without its spec", licence: "see its card" };

/** The whole data set: splits, languages, roles, what was left out, gates. */
export const showOverview = async ({ name, project, lock, context: { print } }: Scene): Promise<void> => {
  const { description, licence } = (await findSpec(project, name))?.spec ?? UNKNOWN;
  const { sourceRevision, codec, roles, drops, gates, statistics, nearDuplicates } = lock;
  const value = {
    name,
    description,
    licence,
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
    `${name}: ${description}`,
    ...pairLines([
      ["licence", licence],
      ["source", `revision ${sourceRevision}`],
      ["clips", codec === "flac" ? "FLAC" : "WAV"],
    ]),
    "",
    ...splitLines(lock, print.style),
    "",
    ...languageLines(lock, print.style),
    "",
    ...rolesLines(roles, print.style),
    "",
    ...leftOutLines(name, lock),
    "",
    ...gates.map(gateLine),
    ...statisticLines(lock),
  ]);
};

/** One role, with what was left out of it. */
export const showRole = async ({ name, lock, context }: Scene, wanted: string): Promise<void> => {
  const { print, columns } = context;
  const role = findRole(lock, wanted);
  const drops = lock.drops.list.filter((drop) => drop.role === role.stem || drop.role === role.id);
  print.result({ name, role, drops }, () => [
    ...rolesLines([role], print.style),
    ...pairLines([
      ["from", role.source],
      ["file stem", role.stem],
      ["profile", role.profileSha256 ?? "none"],
      ["voice", role.referenceClipSha256 ?? "none"],
      ...SPLITS.filter((split) => role.rows[split] > 0).map(
        (split) =>
          [split, `${countText(role.turns[split])} turns, ${tokensText(role.tokens[split])}`] as const,
      ),
      ["dropped", countText(drops.length)],
    ]),
    ...(drops.length === 0 ? [] : ["", ...dropTable(drops, { style: print.style, columns })]),
  ]);
};

const tokensText = ({ audio, labels }: LockedRole["tokens"]["train"]): string =>
  `${countText(audio)} audio and ${countText(labels)} label tokens`;

function splitLines(lock: DatasetLock, style: Style): string[] {
  const { splits } = summaryOf(lock);
  const right = (title: string): { title: string; align: "right" } => ({ title, align: "right" });
  return tableLines({
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
function languageLines({ statistics }: DatasetLock, style: Style): string[] {
  const present = Object.entries(statistics.languages).filter(([, { roles }]) => roles > 0);
  return tableLines({
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

function rolesLines(roles: readonly LockedRole[], style: Style): string[] {
  return tableLines({
    columns: [
      { title: "role" },
      { title: "id" },
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

function leftOutLines(name: string, { drops, nearDuplicates }: DatasetLock): string[] {
  const reasons = Object.entries(drops.byReason);
  if (reasons.length === 0) return ["nothing was dropped"];
  const near = nearDuplicates && nearDuplicates.removed.length > 0 ? ["near-duplicates: --near"] : [];
  return [
    "dropped",
    ...pairLines(reasons.map(([reason, count]) => [reason, countText(count)])),
    [`each of them: understudy dataset show ${name} --drops`, ...near].join("; "),
  ];
}

// Worth knowing, and no fault.
function statisticLines({ statistics }: DatasetLock): string[] {
  const { copiedAnswers, sameQuestion, clippedClips, resampledClips } = statistics;
  return [
    ...(copiedAnswers.turns > 0
      ? [
          `${countText(copiedAnswers.turns)} of ${countText(copiedAnswers.of)} test answers stand word for word in the script of the role card`,
        ]
      : []),
    ...(sameQuestion.pairs > 0
      ? [`${countText(sameQuestion.pairs)} questions stand in train and in test, with other answers`]
      : []),
    ...(clippedClips > 0 ? [`${countText(clippedClips)} clips touch full scale`] : []),
    ...(resampledClips > 0
      ? [`${countText(resampledClips)} clips had another rate or several channels and were converted`]
      : []),
  ];
}
