// Estimators as pure functions: no I/O, no clock, the same numbers for any order of the input. A leaf that stages use.
export { calibrateTieWidth, pairwiseAccuracy, type PairwiseAccuracy, type RatedItem } from "./agreement.ts";
export {
  bootstrapClusters,
  bootstrapMean,
  type Bca,
  type BootstrapOptions,
  type MeanBootstrap,
  type StatisticBootstrap,
} from "./bootstrap.ts";
export { addWins, bootstrapElo, type EloIntervals } from "./bradley-terry-bootstrap.ts";
export { bradleyTerry, winProbability, type BradleyTerry, type Strengths } from "./bradley-terry.ts";
export { summarizeClusters, type ClusterMean, type ClusterSummary } from "./cluster.ts";
export { geometricMean, ratioOfMeans } from "./clustered-ratio.ts";
export {
  coverageByCluster,
  coverageOf,
  overallMean,
  type Coverage,
  type OverallMean,
  type ValueRange,
} from "./coverage.ts";
export {
  differenceInDifferences,
  rawGap,
  type DidOptions,
  type DifferenceInDifferences,
  type RoleGain,
  type RoleGains,
} from "./did.ts";
export { normalCdf, normalQuantile, tCdf, tQuantile, tTwoSidedP } from "./distributions.ts";
export {
  estimateMean,
  type Estimate,
  type Estimated,
  type Interval,
  type NotEstimated,
  type Reason,
} from "./estimate.ts";
export { fiellerRatio, type FiellerRatio } from "./fieller.ts";
export { equivalence, gate, type GateOptions, type GateResult, type Verdict } from "./gate.ts";
export {
  attenuationBound,
  intraclassCorrelations,
  type IntraclassCorrelations,
  type IntraclassPair,
} from "./icc.ts";
export { krippendorffAlpha, type Alpha, type MeasurementLevel } from "./krippendorff.ts";
export {
  mdeDid,
  mdePaired,
  varianceOfMean,
  type Design,
  type DetectableEffect,
  type PairedSpread,
  type PowerOptions,
} from "./mde.ts";
export {
  adjustPValues,
  gatekeep,
  type AdjustedPValue,
  type Correction,
  type PValue,
} from "./multiplicity.ts";
export { compareText, groupByCluster, type Clusters, type Observation } from "./observations.ts";
export {
  pairedDifference,
  type ClusterDifference,
  type PairedDifference,
  type PairedOptions,
} from "./paired.ts";
export { type Dropped, type DropReason } from "./pairing.ts";
export {
  labelExchangeTest,
  signFlipTest,
  type PermutationOptions,
  type PermutationTest,
} from "./permutation.ts";
export { positionEffect, unswap, type PositionEffect } from "./position.ts";
export { median, quantile } from "./quantile.ts";
export { seededRandom, type RandomSource } from "./random.ts";
export { spearmanTest } from "./rank-test.ts";
export {
  averageRanks,
  bonettWright,
  kendallTauB,
  pairCounts,
  spearman,
  type Correlation,
  type CorrelationInterval,
  type PairCounts,
} from "./rank.ts";
export {
  instanceRatio,
  JUDGE_SCALE,
  pairRatio,
  ratioRange,
  ratioScales,
  scoredPairs,
  type InstanceRatio,
  type MissingPolicy,
  type Pair,
  type PairRatio,
  type RatioScales,
  type Scale,
} from "./ratio.ts";
export {
  expectedMaximum,
  oneStandardErrorRule,
  selectionOptimism,
  type Candidate,
  type Selection,
} from "./selection.ts";
export { stratifiedDifference } from "./stratified-did.ts";
export { mean, sum } from "./sum.ts";
export { varianceComponents, type VarianceComponents } from "./variance-components.ts";
export { wilsonWinRate, type WinCounts, type WinRate } from "./wilson.ts";
export { type WinMatrix } from "./win-graph.ts";
