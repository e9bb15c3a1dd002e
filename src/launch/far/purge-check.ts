import type { FarProfile } from "../profile.ts";
import type { Check } from "../schema.ts";
import { slurmSeconds } from "../slurm/times.ts";

const DAY = 86_400;

/**
 * Whether a run could still be at work when the site deletes its first files. Nothing is asked: the limit of the jobs and the
 * profile's `purgeDays` say it. Waiting in queues comes on top.
 */
export const purgeCheck = (profile: FarProfile): readonly Check[] => {
  const { purgeDays } = profile;
  if (purgeDays === undefined) return [];
  const name = "purge";
  const kept = `the site deletes files after ${purgeDays} days`;
  const hint = "pull or promote checkpoints before that, or choose folders that are not purged";
  const days = longestDays(profile);
  if (days === null) {
    return [
      { name, outcome: "warning", detail: `${kept}, and nothing limits how long a run lives here`, hint },
    ];
  }
  const life = `the jobs of a run may take ${days.toFixed(1)} days, waiting not counted`;
  return days >= purgeDays / 2
    ? [{ name, outcome: "warning", detail: `${kept}; ${life}`, hint }]
    : [{ name, outcome: "ok", detail: `${kept}; ${life}` }];
};

function longestDays(profile: FarProfile): number | null {
  if (profile.kind === "ssh") return null;
  const seconds = slurmSeconds(profile.time);
  return typeof seconds === "number" ? (seconds * profile.chain) / DAY : null;
}
