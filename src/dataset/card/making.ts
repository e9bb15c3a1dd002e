import type { DatasetLock, DatasetSpec, NearLock } from "../schema.ts";
import type { CardParts } from "./front-matter.ts";
import { code, count, inline, paragraph, table } from "./markdown.ts";

/** How the data was made: source, audio, what was left out and why, and what was checked. */
export const makingSection = (parts: CardParts): string =>
  [
    "## How it was made",
    sourceText(parts),
    "### Left out",
    dropText(parts.lock),
    nearText(parts.lock.nearDuplicates),
    "### Gates",
    gateText(parts.lock),
  ].join("\n\n");

function sourceText({ lock, spec }: CardParts): string {
  return `Packed by Understudy (${inline(lock.builder)}) from ${SOURCES[spec.source.format]}, revision ${code(lock.sourceRevision)}. Every clip was decoded, checked, brought to 16 kHz, mono and 16 bits, its loudness untouched, and stored as ${lock.codec === "flac" ? "FLAC" : "WAV"}; ${count(lock.statistics.resampledClips)} clips had another rate or several channels. The same source and spec give the same bytes; the spec's digest is ${code(lock.specDigest)}, the seed ${lock.seed}.`;
}

const SOURCES: Readonly<Record<DatasetSpec["source"]["format"], string>> = {
  "speechrole-release": "files in the layout of the SpeechRole release",
  manifest: "a manifest of dialogues and audio files",
  parquet: "Parquet files",
  hub: "a repository on the Hugging Face Hub",
};

function dropText({ drops }: DatasetLock): string {
  const reasons = Object.entries(drops.byReason);
  if (reasons.length === 0) return "Nothing was left out.";
  const total = reasons.reduce((sum, [, dropped]) => sum + dropped, 0);
  const rows = reasons.map(([reason, dropped]) => [code(reason), count(dropped)]);
  return `${count(total)} dialogues were left out, each for one reason; the lock lists every one of them.\n\n${table(["reason", "dialogues:"], rows)}`;
}

function nearText(near: NearLock | null): string {
  if (!near) return "Near-duplicates were not looked for.";
  const of = (because: NearLock["removed"][number]["because"]): number =>
    near.removed.filter((removed) => removed.because === because).length;
  const models = Object.entries(near.embedders).flatMap(([language, model]) =>
    model ? [`${inline(model.fingerprint.model)} for ${language} (cosine above ${model.threshold})`] : [],
  );
  const what = near.text === "first_user" ? "first questions" : "whole dialogues";
  return `Near-duplicates were looked for within each role by comparing ${what}, rule \`${near.rule}\`, single-turn and multi-turn dialogues ${near.pools === "together" ? "together" : "apart"}, with ${models.join(" and ") || "no model, since there was nothing to compare"}: ${count(of("near_duplicate"))} repeated another dialogue, and ${count(of("near_test"))} were near a test dialogue of their role.`;
}

function gateText({ gates }: DatasetLock): string {
  const rows = gates.map(({ name, passed, detail, allowed }) => [
    code(name),
    passed ? "passed" : "**violated, and allowed**",
    inline(detail),
    allowed === null ? "" : inline(allowed),
  ]);
  return `Each of these stops the packing when it is violated, unless a person states why it does not matter here.\n\n${table(["gate", "result", "found", "why it was allowed"], rows)}`;
}

/** What a reader must know before drawing conclusions. */
export const limitSection = ({ lock, spec }: CardParts): string => {
  const { copiedAnswers, sameQuestion, clippedClips, quietClips } = lock.statistics;
  const allowed = lock.gates.filter(({ passed }) => !passed).map(({ name }) => code(name));
  const limits = [
    spec.splits.by === "spec"
      ? "The list of held-out roles was given, not derived; for SpeechRole-Data it is inferred (see Roles). Read differences between seen and held-out roles with that in mind."
      : "The held-out roles were drawn here and are not those of any publication: results on them compare with no published number.",
    "The voices are synthesized. A model may have met the characters, their scripts or their voices in its own training: held out means not trained on here.",
    ...(spec.source.format === "speechrole-release"
      ? [
          `Which engine spoke which column of audio is what the spec says: reference 1 is \`${spec.source.references["1"]}\`, 2 is \`${spec.source.references["2"]}\`, 3 is \`${spec.source.references["3"]}\`. The publisher of SpeechRole-Data does not say it.`,
        ]
      : []),
    `${copiedAnswers.turns === 0 ? "None" : count(copiedAnswers.turns)} of ${count(copiedAnswers.of)} test answers stand word for word in the script of their role${copiedAnswers.turns === 0 ? "" : ": those measure reading, not invention"}.`,
    ...(sameQuestion.pairs > 0
      ? [
          `${count(sameQuestion.pairs)} questions stand in \`train\` and in \`test\`, with other answers: generic questions recur, and one voice speaks them all.`,
        ]
      : []),
    ...(clippedClips > 0 ? [`${count(clippedClips)} clips touch full scale and may be clipped.`] : []),
    ...(quietClips > 0 ? [`${count(quietClips)} clips are silence for the most part.`] : []),
    ...(allowed.length > 0 ? [`Violated and allowed: ${allowed.join(", ")}; the reasons are above.`] : []),
  ];
  return `## Known limits\n\n${limits.map((limit) => `- ${limit}`).join("\n")}`;
};

/** Licence in the words of the spec. */
export const licenceSection = ({ spec }: CardParts): string => `## Licence\n\n${paragraph(spec.licence)}`;
