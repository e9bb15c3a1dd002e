import type { OpenDataset } from "../dataset/index.ts";
import { suitesFor, type Instance, type SuiteId } from "../evaluate/index.ts";
import type { PlannedSuite } from "./evaluation-tasks.ts";

/** The suites of a checkpoint lineage over the test split, with every role turn that must be answered. */
export const planSuites = async (
  dataset: OpenDataset,
  trainingRoles: readonly string[],
  wanted: readonly SuiteId[],
): Promise<readonly PlannedSuite[]> => {
  const instances = await testInstances(dataset);
  const shardDigests = dataset.lock.splits.test.shards.map(({ sha256 }) => sha256);
  return suitesFor(dataset.lock.roles, trainingRoles)
    .filter(({ id, roles }) => wanted.includes(id) && roles.length > 0)
    .map((suite) => {
      const roles = new Set(suite.roles);
      const expected = instances.filter(({ role }) => roles.has(role));
      return { suite, shards: dataset.shards.test, shardDigests, expected };
    });
};

async function testInstances(dataset: OpenDataset): Promise<readonly Instance[]> {
  const instances: Instance[] = [];
  for await (const { id, roleId, language, kind, turns } of dataset.texts("test")) {
    for (const { index } of turns)
      instances.push({ dialogue: id, role: roleId, language, kind, turn: index });
  }
  return instances;
}
