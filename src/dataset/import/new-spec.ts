import { Document } from "yaml";
import { DatasetSpec } from "../schema.ts";
import type { Scan } from "./scan.ts";
import { LIKELY_HELD_OUT } from "./speechrole.ts";

export interface SpecOptions {
  readonly name: string;
  /** As it goes into the file: relative to it, or absolute. */
  readonly path: string;
  readonly roles: string;
  readonly revision: string;
  readonly description: string;
  readonly licence: string;
  /** Stems; empty: the seed draws them. */
  readonly heldOutRoles: readonly string[];
}

/** Stems that are likely held out: those known of SpeechRole-Data; of another corpus nobody knows. */
export const likelyHeldOut = ({ roles, isSpeechRole }: Scan): readonly string[] =>
  isSpeechRole ? LIKELY_HELD_OUT.filter((name) => roles.some(({ stem }) => stem === name)) : [];

/** The spec of an imported corpus as YAML, checked: held-out roles and counts are proposals for a person to look at. */
export const newSpec = (scan: Scan, options: SpecOptions): string => {
  const { name, path, roles, revision, description, licence, heldOutRoles } = options;
  const references = { "1": "cosyvoice2", "2": "f5_tts", "3": "e2_tts" };
  const spec = {
    schemaVersion: 1,
    name,
    description,
    licence,
    source: {
      format: scan.format,
      path,
      revision,
      roles,
      ...(scan.format === "speechrole-release" ? { references } : {}),
      trainReference: "cosyvoice2",
    },
    splits:
      heldOutRoles.length > 0
        ? { by: "spec", seed: 20, heldOutRoles }
        : scan.roles.length < 2
          ? { by: "spec", seed: 20, heldOutRoles }
          : { by: "seed", seed: 20, heldOutCount: Math.max(1, Math.round((scan.roles.length * 20) / 98)) },
    expected: {
      roles: scan.roles.length,
      ...(sessionsOf(scan) > 0 ? { testSessions: sessionsOf(scan) } : {}),
    },
  };
  DatasetSpec.parse(spec);
  const document = new Document(spec);
  document.commentBefore = [
    " Written by an import. Look at: licence, revision, which roles are held out, and which speech engine is which",
    " reference (the publisher of SpeechRole-Data does not say).",
  ].join("\n");
  return document.toString({ lineWidth: 0 });
};

/** Test sessions of all roles. */
export const sessionsOf = ({ roles }: Scan): number =>
  roles.reduce((sum, { dialogues: { test } }) => sum + test.single + test.multi, 0);
