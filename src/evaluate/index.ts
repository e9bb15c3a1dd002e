// Stage 6 of 7: systems and suites become rows, and rows become an evaluation.
export { coverageOf, coverageText, type Coverage, type ResultCoverage } from "./coverage.ts";
export {
  FAILURE_CLASSES,
  failureOf,
  failuresOf,
  silenceShares,
  UNCHECKED_FAILURES,
  type AnswerContext,
  type AnswerFailure,
  type AnswerLimits,
  type FailureClass,
  type UncheckedFailure,
} from "./failures.ts";
export { byInstance, instanceKey } from "./instance-key.ts";
export { judgePrompt, PROMPT_VERSION, type JudgePrompt } from "./judge-prompt.ts";
export { isComplete, type Judge, type JudgeRequest } from "./judge.ts";
export { noJudge, withoutJudge } from "./no-judge.ts";
export { openAiJudge, type JudgeWorld, type OpenAiJudgeSettings } from "./openai-judge.ts";
export { parseVerdict, type ParsedVerdict, type UnscoredReason } from "./parse-verdict.ts";
export { readResults, type ResultFolders, type ResultRequest } from "./read-results.ts";
export {
  AnswerRow,
  Instance,
  MeasureRow,
  MetricName,
  METRICS,
  ScoreRow,
  SUITES,
  Verdict,
  type Evaluation,
  type JudgedVerdict,
  type Suite,
  type SuiteId,
  type SuiteResult,
  type System,
} from "./schema.ts";
export { suiteDigest, suitesFor, type SuiteRole } from "./suites.ts";
export { systemDigest, type JsonValue } from "./system.ts";
export { taskKey, type TaskIdentity } from "./task-key.ts";
