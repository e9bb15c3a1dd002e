import type { Project } from "../../core/project.ts";
import { plainCard } from "../hub/plain-card.ts";
import { findSpec } from "../load-spec.ts";
import { packedFolder } from "../places.ts";
import type { DatasetLock } from "../schema.ts";
import { datasetCard, type DatasetCard } from "./card.ts";

export interface PublishedCard extends DatasetCard {
  /** Why it is only a plain one, without licence and description: no spec says what the lock was packed from. */
  readonly plainBecause: "no spec" | "spec changed" | null;
}

/** The card that a data set is published with. Errors of `datasetCard` and `findSpec`. */
export const publishedCard = async (
  project: Project,
  lock: DatasetLock,
  { repo, signal }: { readonly repo: string; readonly signal?: AbortSignal },
): Promise<PublishedCard> => {
  const loaded = await findSpec(project, lock.name);
  if (loaded?.digest !== lock.specDigest)
    return { text: plainCard(lock), plots: [], plainBecause: loaded ? "spec changed" : "no spec" };
  const folder = packedFolder(project, lock.name);
  const card = await datasetCard({ lock, spec: loaded.spec, folder, repo, ...(signal ? { signal } : {}) });
  return { ...card, plainBecause: null };
};
