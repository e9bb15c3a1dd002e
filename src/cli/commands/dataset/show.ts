import { UserError } from "../../../core/errors.ts";
import { loadSpec, readLock, SPLITS, type DatasetLock, type LockedRole } from "../../../dataset/index.ts";
import { didYouMean } from "../../../core/near-matches.ts";
import { defineCommand } from "../../command.ts";
import { bytesText, countText, secondsText } from "../../quantities.ts";
import type { Style } from "../../style.ts";
import { pairLines, tableLines } from "../../table.ts";
import { summaryOf } from "./summary.ts";

export const datasetShow = defineCommand({
  positionals: { name: { describe: "Data set: datasets/NAME.yaml", complete: "dataset" } },
  options: { role: { type: "string", value: "ROLE", describe: "Only this role, by id, name or file stem" } },
  json: true,
  examples: ["understudy dataset show greenroom", "understudy dataset show greenroom --role 金葫芦"],
  handler: async ({ name, role }, { print, ...context }) => {
    const look = { style: print.style, columns: context.columns };
    const project = await context.project();
    const { spec } = await loadSpec(project, name);
    const lock = await readLock(project, name);
    const { description, licence } = spec;
    if (role !== undefined) {
      const found = findRole(lock, role);
      const drops = lock.drops.list.filter((drop) => drop.role === found.stem || drop.role === found.id);
      print.result({ name, role: found, drops }, () => roleLines(found, drops, look));
      return;
    }
    const { sourceRevision, roles, drops, gates } = lock;
    const value = { name, description, licence, sourceRevision, ...summaryOf(lock), roles, drops, gates };
    print.result(value, () => [
      `${name}: ${description}`,
      ...pairLines([
        ["licence", licence],
        ["source", `revision ${sourceRevision}`],
      ]),
      "",
      ...splitLines(lock, print.style),
      "",
      ...rolesLines(roles, print.style),
      "",
      ...dropLines(lock, look),
      ...gates.map(
        ({ name: gate, passed, detail }) => `gate ${gate}: ${passed ? "ok" : "VIOLATED"}, ${detail}`,
      ),
    ]);
  },
});

interface Look {
  readonly style: Style;
  readonly columns: number;
}

function findRole({ roles }: DatasetLock, wanted: string): LockedRole {
  const found = roles.find(({ id, name, stem }) => [id, name, stem].includes(wanted));
  if (found) return found;
  const known = roles.flatMap(({ id, name, stem }) => [id, name, stem]);
  throw new UserError(
    "ROLE_UNKNOWN",
    `There is no role "${wanted}"${didYouMean(wanted, [...new Set(known)])}`,
    {
      hint: `roles here: ${roles.map(({ id }) => id).join(", ")}`,
    },
  );
}

function splitLines(lock: DatasetLock, style: Style): string[] {
  const { splits } = summaryOf(lock);
  return tableLines({
    columns: [
      { title: "split" },
      { title: "dialogues", align: "right" },
      { title: "turns", align: "right" },
      { title: "audio", align: "right" },
      { title: "shards", align: "right" },
      { title: "size", align: "right" },
    ],
    rows: SPLITS.map((split) => {
      const { dialogues, turns, audioSeconds, shards, bytes } = splits[split];
      return [
        split,
        countText(dialogues),
        countText(turns),
        secondsText(audioSeconds),
        countText(shards),
        bytesText(bytes),
      ];
    }),
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
    ],
    rows: roles.map((role) => [
      role.name,
      role.id,
      role.language,
      role.heldOut ? "yes" : "no",
      ...SPLITS.map((split) => countText(role.rows[split])),
    ]),
    title: style.bold,
  });
}

function roleLines(role: LockedRole, drops: DatasetLock["drops"]["list"], look: Look): string[] {
  return [
    ...rolesLines([role], look.style),
    ...pairLines([
      ["from", role.source],
      ["file stem", role.stem],
      ["profile", role.profileSha256 ?? "none"],
      ["voice", role.referenceClipSha256 ?? "none"],
      ["dropped", countText(drops.length)],
    ]),
    ...(drops.length === 0 ? [] : ["", ...dropTable(drops, look)]),
  ];
}

const MOST_LISTED = 20;

function dropLines({ drops }: DatasetLock, look: Look): string[] {
  const reasons = Object.entries(drops.byReason);
  if (reasons.length === 0) return ["nothing was dropped"];
  const more = drops.list.length - MOST_LISTED;
  return [
    "dropped",
    ...pairLines(reasons.map(([reason, count]) => [reason, countText(count)])),
    "",
    ...dropTable(drops.list.slice(0, MOST_LISTED), look),
    ...(more > 0 ? [`and ${countText(more)} more: --role ROLE shows those of one role, --json all`] : []),
    "",
  ];
}

function dropTable(drops: DatasetLock["drops"]["list"], { style, columns }: Look): string[] {
  return tableLines({
    width: columns,
    columns: [
      { title: "reason" },
      { title: "role" },
      { title: "dialogue" },
      { title: "turn", align: "right" },
      { title: "what is wrong", below: true },
    ],
    rows: drops.map(({ reason, role, dialogue, turn, detail }) => [
      reason,
      role,
      dialogue,
      turn === null ? "" : String(turn),
      detail,
    ]),
    title: style.bold,
  });
}
