import { z } from "zod";

/** `_COMPLETE.json` as the payload writes it, last, into every finished checkpoint folder. */
export const CompleteMarker = z.strictObject({
  schemaVersion: z.literal(1),
  step: z.int().nonnegative(),
  epoch: z.number(),
  kind: z.enum(["adapter", "full"]),
  worldSize: z.int().positive(),
  trainLoss: z.number().nullable(),
  evalLoss: z.number().nullable(),
  files: z.record(z.string(), z.strictObject({ bytes: z.int().nonnegative(), sha256: z.string() })),
});
export type CompleteMarker = z.infer<typeof CompleteMarker>;

export const CheckpointManifest = z.strictObject({
  schemaVersion: z.literal(1),
  id: z.string().describe("RUN@STEP"),
  run: z.string(),
  attempt: z.int().positive(),
  step: z.int().nonnegative(),
  epoch: z.number(),
  kind: z.enum(["adapter", "full"]),
  files: z.array(z.strictObject({ path: z.string(), bytes: z.int(), sha256: z.string() })),
  /** Digest over the weights alone: two checkpoints with equal weights have the same. */
  weightsDigest: z.string(),
  metrics: z.strictObject({ devLoss: z.number().nullable(), trainLoss: z.number().nullable() }),
  complete: z.strictObject({ how: z.literal("marker"), verifiedAt: z.string(), digestsChecked: z.boolean() }),
  uri: z.string(),
  parents: z.strictObject({
    recipeDigest: z.string(),
    datasetLockDigest: z.string(),
    trainingRoles: z.array(z.string()),
    baseModel: z.string(),
  }),
});
export type CheckpointManifest = z.infer<typeof CheckpointManifest>;
