import { execute, scrubbedScript } from "./command.ts";
import type { FindWorld } from "./find.ts";

const ASK = `
list=$1 limit=$2
shift 2
known=$(timeout -k 5 "$limit" sinfo "$@" --all -h -N -o %N | grep -v '^CLUSTER: ') || exit 1
for name in $(timeout -k 5 "$limit" scontrol show hostnames "$list" || exit 1); do
  if printf '%s\\n' "$known" | grep -qxF -e "$name"; then echo "known $name"; else echo "unknown $name"; fi
done
`;

/** Which nodes of a list, as sbatch takes it (`n[1-3],n7`), a cluster knows; undefined when it does not say. */
export const knownNodes = async (
  list: string,
  { transport, clusters, deadlineSeconds }: Pick<FindWorld, "transport" | "clusters" | "deadlineSeconds">,
): Promise<{ readonly nodes: readonly string[]; readonly unknown: readonly string[] } | undefined> => {
  const names = clusters.flatMap(({ name }) => name ?? []);
  const option = names.length === 0 ? [] : ["-M", names.join(",")];
  const outcome = await execute(transport, scrubbedScript(ASK, list, String(deadlineSeconds), ...option), {
    deadline: (deadlineSeconds + 10) * 2000,
  });
  const lines = outcome.kind === "exited" ? outcome.stdout.toString("utf8").split("\n") : [];
  const of = (word: string): readonly string[] =>
    lines.flatMap((line) => (line.startsWith(`${word} `) ? [line.slice(word.length + 1)] : []));
  const [nodes, unknown] = [of("known"), of("unknown")];
  return nodes.length + unknown.length === 0 ? undefined : { nodes, unknown };
};
