import { groupedBy } from "./grouped.ts";
import type { FailureView, ReportModel } from "./model.ts";

/** Answers of one system on one suite that failed in the same way. */
export interface FailureGroup {
  readonly suite: string;
  readonly suiteLabel: string;
  readonly systemLabel: string;
  /** In words: `cut`. */
  readonly kind: string;
  readonly message: string;
  readonly count: number;
  /** By role, in the order of the names. */
  readonly roles: readonly { readonly name: string; readonly failures: readonly FailureView[] }[];
}

/** The failed answers in groups: suites and systems in the order of the report, the commonest failure first. */
export const failureGroups = ({ failures, suites, systems }: ReportModel): readonly FailureGroup[] =>
  suites.flatMap((suite) =>
    systems.flatMap((system) => {
      const own = failures.filter((one) => one.suite === suite.id && one.system === system.id);
      const groups = groupedBy(own, ({ class: kind, message }) => JSON.stringify([kind, message]));
      return [...groups.values()]
        .toSorted((a, b) => b.length - a.length)
        .map((members) => ({
          suite: suite.id,
          suiteLabel: suite.label,
          systemLabel: system.label,
          kind: (members[0]?.class ?? "").replaceAll("_", " "),
          message: members[0]?.message ?? "",
          count: members.length,
          roles: [...groupedBy(members, ({ roleName }) => roleName)]
            .toSorted(([a], [b]) => (a < b ? -1 : 1))
            .map(([name, found]) => ({ name, failures: found })),
        }));
    }),
  );
