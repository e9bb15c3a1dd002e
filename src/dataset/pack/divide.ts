import { UserError } from "../../core/errors.ts";
import type { LoadedSpec } from "../load-spec.ts";
import type { Drop, Gate, Language, NearLock } from "../schema.ts";
import type { DialogueSource } from "../source/source.ts";
import { lockedDrop, type SurveyedDrop } from "./entry.ts";
import { lockedGate, type JudgedGate } from "./gate.ts";
import { byPosition, checkGates, type Candidate } from "./gates.ts";
import { heldOutRoles, type HeldOut } from "./held-out.ts";
import { openNearFinder, type NearFinder } from "./near.ts";
import type { PackOptions } from "./pack.ts";
import { splitEntries, type SplitEntries } from "./split.ts";
import { byPlace, type Survey } from "./survey.ts";

/** What becomes of a survey: who goes where, who goes away, and whether it may be packed. */
export interface Division {
  readonly heldOut: HeldOut;
  readonly splits: SplitEntries;
  readonly nearDuplicates: NearLock | null;
  readonly drops: readonly Drop[];
  /** As the lock keeps them: the same for any order of the source. */
  readonly gates: readonly Gate[];
  /** The same gates as a person is told them, with the position of each dialogue. */
  readonly toldGates: readonly JudgedGate[];
}

/**
 * Divides a survey: near-duplicates go first, so that no draw takes one; then the splits are made; then what is near to
 * a test dialogue leaves them. UserErrors `EMBEDDER_MISSING`, `EMBEDDING_MODEL_MISSING`; errors of the embedders.
 */
export const divide = async (
  {
    loaded,
    source,
    survey,
  }: { readonly loaded: LoadedSpec; readonly source: DialogueSource; readonly survey: Survey },
  options: PackOptions,
): Promise<Division> => {
  const { spec } = loaded;
  const heldOut = heldOutRoles(spec.splits, source.roles);
  const finder = await finderFor(loaded, survey, options);
  try {
    const pass = (await finder?.withoutRepetitions(survey.entries, options.signal)) ?? {
      kept: survey.entries,
      drops: [],
    };
    const drawn = splitEntries(pass.kept, heldOut, spec.splits);
    const apart = (await finder?.withoutNearTest(drawn, options.signal)) ?? { splits: drawn, drops: [] };
    const drops: readonly SurveyedDrop[] = [...survey.drops, ...pass.drops, ...apart.drops];
    const candidate: Candidate = {
      spec,
      roles: source.roles,
      strangers: source.strangers,
      heldOut,
      splits: apart.splits,
      drops,
    };
    return {
      heldOut,
      splits: apart.splits,
      nearDuplicates: finder?.lock() ?? null,
      drops: drops.map(lockedDrop).toSorted(byPlace),
      gates: checkGates(candidate, options.allow).map(lockedGate),
      toldGates: checkGates({ ...candidate, where: byPosition }, options.allow),
    };
  } finally {
    await finder?.close();
  }
};

async function finderFor(
  { spec }: LoadedSpec,
  { entries }: Survey,
  { openEmbedder }: PackOptions,
): Promise<NearFinder | undefined> {
  if (!spec.nearDuplicates) return undefined;
  if (!openEmbedder)
    throw new UserError(
      "EMBEDDER_MISSING",
      "The spec looks for near-duplicates, and nothing here can compare texts",
    );
  const languages = new Set<Language>(entries.map(({ language }) => language));
  return openNearFinder(spec.nearDuplicates, languages, openEmbedder);
}
