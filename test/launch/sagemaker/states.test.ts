import { describe, expect, it } from "vitest";
import { faultOf } from "../../../src/launch/sagemaker/faults.ts";
import { meaningOf } from "../../../src/launch/sagemaker/states.ts";

const said = (
  primary: string,
  secondary: string,
  failure = "",
  ended = false,
): ReturnType<typeof meaningOf> => meaningOf({ primary, secondary, failure, ended });

describe("the service's words", () => {
  it.each([
    ["InProgress", "Pending", "queued"],
    ["InProgress", "Starting", "starting"],
    ["InProgress", "LaunchingMLInstances", "queued"],
    ["InProgress", "Downloading", "starting"],
    ["InProgress", "DownloadingTrainingImage", "starting"],
    ["InProgress", "Training", "running"],
    ["InProgress", "Uploading", "stopping"],
    // A spot instance was taken back: the job is not over.
    ["InProgress", "Interrupted", "queued"],
    ["InProgress", "Restarting", "starting"],
    ["Stopping", "Stopping", "stopping"],
    ["Stopping", "MaxRuntimeExceeded", "stopping"],
  ])("%s, %s: live, %s", (primary, secondary, state) => {
    expect(said(primary, secondary)).toEqual({ phase: "live", state });
  });

  it.each([
    ["Completed", "Completed", "", "completed"],
    ["Completed", "MaxRuntimeExceeded", "", "walltime"],
    ["Stopped", "MaxRuntimeExceeded", "", "walltime"],
    ["Stopped", "MaxWaitTimeExceeded", "", "no_capacity"],
    ["Stopped", "Stopped", "", "stopped"],
    ["Stopped", "SomethingNew", "", "unknown"],
    [
      "Failed",
      "Failed",
      "CapacityError: Unable to provision requested ML compute capacity. Please retry",
      "no_capacity",
    ],
    ["Failed", "Failed", "AlgorithmError: , exit code: 1", "failed"],
    ["Failed", "Failed", "ClientError: Please use an instance type with more memory", "out_of_memory"],
    ["Failed", "Failed", "AlgorithmError: CUDA out of memory, exit code: 1", "out_of_memory"],
    ["Failed", "Failed", "InternalServerError: We encountered an internal error.", "node_fail"],
    ["Failed", "Failed", "ClientError: Data download failed: no objects", "failed"],
    // Why is not known; that it failed is.
    ["Failed", "Failed", "something nobody has seen", "failed"],
    ["Failed", "Failed", "", "failed"],
  ])("%s, %s, %j: ended, %s", (primary, secondary, failure, cause) => {
    expect(said(primary, secondary, failure, true)).toEqual({ phase: "ended", cause });
  });

  it("never reads a new word as success", () => {
    expect(said("InProgress", "FUTURE_STATE")).toEqual({ phase: "live" });
    expect(said("Deleting", "")).toEqual({ phase: "live" });
    expect(said("Deleted", "Done", "", true)).toEqual({ phase: "ended", cause: "unknown" });
    expect(said("", "")).toEqual({ phase: "live" });
  });
});

const failure = (name: string, extra: Readonly<Record<string, unknown>> = {}, message = ""): Error =>
  Object.assign(new Error(message), { name, ...extra });

describe("what a failed call tells about its effect", () => {
  it.each([
    [failure("ThrottlingException", { $metadata: { httpStatusCode: 400 } }), "throttled"],
    [failure("Whatever", { $metadata: { httpStatusCode: 429 } }), "throttled"],
    [failure("ResourceInUse", { $metadata: { httpStatusCode: 400 } }), "in-use"],
    [failure("ResourceLimitExceeded", { $metadata: { httpStatusCode: 400 } }), "over-limit"],
    [
      failure("ValidationException", { $metadata: { httpStatusCode: 400 } }, "Could not find training job"),
      "not-found",
    ],
    [failure("ValidationException", { $metadata: { httpStatusCode: 400 } }, "no such role"), "refused"],
    [failure("AccessDeniedException", { $metadata: { httpStatusCode: 400 } }), "refused"],
    [failure("CredentialsProviderError"), "credentials"],
    [failure("ExpiredToken", { $metadata: { httpStatusCode: 400 } }), "credentials"],
    [failure("ExpiredTokenException", { $metadata: { httpStatusCode: 403 } }), "credentials"],
    [failure("RequestExpired", { $metadata: { httpStatusCode: 400 } }), "credentials"],
    [failure("UnrecognizedClientException", { $metadata: { httpStatusCode: 400 } }), "credentials"],
    [failure("InvalidClientTokenId", { $metadata: { httpStatusCode: 403 } }), "credentials"],
    [failure("InvalidSignatureException", { $metadata: { httpStatusCode: 403 } }), "credentials"],
    [failure("SignatureDoesNotMatch", { $metadata: { httpStatusCode: 403 } }), "credentials"],
    // A question for a head has no body that would say why.
    [failure("UnknownError", { $metadata: { httpStatusCode: 400 } }), "unclear"],
    [failure("Error", { code: "ECONNREFUSED" }), "unsent"],
    [failure("Error", { cause: failure("Error", { code: "ENOTFOUND" }) }), "unsent"],
    [failure("Error", { code: "ECONNRESET" }), "unclear"],
    [failure("TimeoutError"), "unclear"],
    [failure("InternalFailure", { $metadata: { httpStatusCode: 500 } }), "unclear"],
    [failure("ServiceUnavailable", { $metadata: { httpStatusCode: 503 } }), "unclear"],
    ["text", "unclear"],
    [null, "unclear"],
  ])("%s → %s", (error, fault) => {
    expect(faultOf(error)).toBe(fault);
  });
});
