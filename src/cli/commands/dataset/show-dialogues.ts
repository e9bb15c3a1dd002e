import { openDataset, type DialogueText, type Split } from "../../../dataset/index.ts";
import { countText, secondsText } from "../../quantities.ts";
import { tableLines } from "../../table.ts";
import { findRole } from "./find-role.ts";
import type { Scene } from "./show.ts";

// A terminal shows some; whoever wants all of 90,000 pipes them.
const MOST_LISTED = 50;
const LONGEST_ROLE = 16;

/** The dialogues of a split (of a role): id, length and first question. Reads text only. */
export const showDialogues = async (
  { name, project, lock, spec, role, context }: Scene,
  split: Split,
): Promise<void> => {
  const { print, columns, signal } = context;
  const found = role === undefined ? undefined : findRole(lock, role);
  const dataset = await openDataset(project, name);
  const rows: Listed[] = [];
  try {
    for await (const row of dataset.texts(split)) {
      signal.throwIfAborted();
      if (!found || row.roleId === found.id) rows.push(listed(row));
    }
  } finally {
    await dataset.close();
  }
  const most = Number.isFinite(columns) ? MOST_LISTED : Infinity;
  print.result({ name, split, role: found?.id ?? null, specChanged: spec.changed, dialogues: rows }, () => {
    if (rows.length === 0) return [`${split} has no dialogues${found ? ` of ${found.name}` : ""}`];
    const more = rows.length - most;
    return [
      ...tableLines({
        width: columns,
        columns: [
          { title: "id" },
          { title: "role", ...(Number.isFinite(columns) ? { most: LONGEST_ROLE } : {}) },
          { title: "kind" },
          { title: "turns", align: "right" },
          { title: "audio", align: "right" },
          { title: "first question", below: true },
        ],
        rows: rows
          .slice(0, most)
          .map(({ id, roleName, kind, turns, audioSeconds, question }) => [
            id,
            roleName,
            kind,
            countText(turns),
            secondsText(audioSeconds),
            question,
          ]),
        title: print.style.bold,
      }),
      ...(more > 0 ? [`and ${countText(more)} more: --role ROLE shows those of one role, --json all`] : []),
      `a dialogue with its turns: understudy dataset show ${name} --dialogue ID`,
    ];
  });
};

interface Listed {
  readonly id: string;
  readonly role: string;
  readonly roleName: string;
  readonly kind: string;
  readonly turns: number;
  readonly audioSeconds: number;
  readonly question: string;
}

const listed = ({ id, roleId, roleName, kind, turns, audioSeconds }: DialogueText): Listed => ({
  id,
  role: roleId,
  roleName,
  kind,
  turns: turns.length,
  audioSeconds,
  question: turns[0]?.userText ?? "",
});
