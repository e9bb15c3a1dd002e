import { withoutUserinfo } from "../../core/http.ts";
import type { FarProfile } from "../profile.ts";
import type { Check } from "../schema.ts";
import { CPU_INDEX } from "../torch-wheel.ts";
import type { IndexFact } from "./facts.ts";
import type { FarWorld } from "./scripts.ts";

/** Options of `check.sh` about the package indexes that an environment is made from; none where a folder there has all wheels. */
export const indexQuestions = (profile: FarProfile, { environment }: FarWorld): readonly string[] => {
  if (profile.container !== undefined || profile.wheelhouse !== undefined) return [];
  const own = ["--pip-index", "yes"];
  if (profile.device !== "cpu") return own;
  const source = environment?.["UNDERSTUDY_FAR_TORCH_WHEELS"]?.trim() ?? "";
  if (source === "") return [...own, "--torch-index", CPU_INDEX];
  // An address may hold a token, which is nothing for an argument; without it an index answers as well.
  return /^https?:/.test(source) ? [...own, "--index", withoutUserinfo(source)] : own;
};

/** Whether the indexes answer. A warning at most: a proxy or mirror that only pip knows of may lead there all the same. */
export const indexChecks = (indexes: readonly IndexFact[]): readonly Check[] => {
  if (indexes.length === 0) return [];
  const name = "package index";
  const away = indexes.filter(({ reason }) => reason !== null);
  if (away.length === 0) {
    const verb = indexes.length === 1 ? "answers" : "answer";
    return [{ name, outcome: "ok", detail: `${indexes.map(({ host }) => host).join(" and ")} ${verb}` }];
  }
  const reasons = away.map(
    ({ host, reason }) =>
      `${host === "-" ? "a package index" : host} cannot be reached from there: ${reason ?? ""}`,
  );
  return [
    {
      name,
      outcome: "warning",
      detail: `${reasons.join("; ")}; the Python environment is made of what lies there`,
      hint: "for machines without internet: a folder of wheels as wheelhouse: in the profile, a container:, or pip's own index-url of a mirror there",
    },
  ];
};
