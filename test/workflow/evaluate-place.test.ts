import { describe, expect, it } from "vitest";
import { profileOfEvaluation } from "../../src/workflow/place-sagemaker.ts";
import { profile, SAGEMAKER } from "./place-support.ts";

const of = (settings: object): ReturnType<typeof profileOfEvaluation> => {
  const full = profile({ ...SAGEMAKER, ...settings });
  if (full.kind !== "sagemaker") throw new Error("not a profile of SageMaker");
  return profileOfEvaluation(full);
};
const PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/mine";

describe("the machine of an evaluation on SageMaker", () => {
  it("is one of those that train, where the profile says nothing else", () => {
    expect(of({ instances: 4, trainingPlan: PLAN })).toMatchObject({
      instanceType: "ml.p5.48xlarge",
      instances: 1,
      processes: 1,
      trainingPlan: PLAN,
    });
  });

  it("is another kind with its own limits, and without what is reserved for training", () => {
    const evaluation = { instanceType: "ml.g6e.4xlarge", volumeGigabytes: 100, maxRuntimeSeconds: 7200 };
    const spot = { maxWaitSeconds: 200_000 };
    expect(of({ instances: 2, spot, evaluation })).toMatchObject({ ...evaluation, instances: 1, spot });
    expect(of({ trainingPlan: PLAN, evaluation })).not.toHaveProperty("trainingPlan");
    expect(of({ trainingPlan: PLAN, evaluation: { instanceType: "ml.p5.48xlarge" } })).toMatchObject({
      trainingPlan: PLAN,
      volumeGigabytes: 500,
      maxRuntimeSeconds: 172_800,
    });
  });
});
