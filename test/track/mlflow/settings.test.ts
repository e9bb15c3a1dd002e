import { describe, expect, it } from "vitest";
import { mlflowTarget } from "../../../src/track/index.ts";
import { messageOf, UnderstudyError } from "../../../src/core/errors.ts";
import { temporaryProject } from "../../support/temporary-project.ts";

const refusalOf = async (environment: Readonly<Record<string, string>>, file?: string): Promise<string> => {
  const project = await temporaryProject();
  if (file !== undefined) await project.write("understudy.yaml", file);
  try {
    await mlflowTarget(project, environment);
  } catch (error) {
    const hint = error instanceof UnderstudyError ? error.hint : "";
    return `${messageOf(error)} ${hint ?? ""}`;
  }
  return "not refused";
};

describe("where runs are copied to", () => {
  it("is nowhere unless somebody names it, and nowhere when the project says so", async () => {
    const project = await temporaryProject();
    expect(await mlflowTarget(project, {})).toBeNull();
    await project.write("understudy.yaml", "schemaVersion: 1\nmlflow: false\n");
    expect(await mlflowTarget(project, { MLFLOW_TRACKING_URI: "http://a" })).toBeNull();
  });

  it("is what the environment says, else what the project says", async () => {
    const project = await temporaryProject();
    await project.write(
      "understudy.yaml",
      "schemaVersion: 1\nmlflow: {trackingUri: https://lab/mlflow/, experiment: roles}\n",
    );
    expect(await mlflowTarget(project, {})).toMatchObject({
      uri: "https://lab/mlflow",
      experiment: "roles",
      key: "https://lab/mlflow#roles",
      authorization: null,
    });
    const environment = { MLFLOW_TRACKING_URI: "http://other:5000", MLFLOW_EXPERIMENT_NAME: "mine" };
    expect(await mlflowTarget(project, environment)).toMatchObject({
      uri: "http://other:5000",
      experiment: "mine",
    });
  });

  it("takes credentials from the environment alone, and knows them again in any text", async () => {
    const project = await temporaryProject();
    const at = { MLFLOW_TRACKING_URI: "http://a" };
    const token = await mlflowTarget(project, { ...at, MLFLOW_TRACKING_TOKEN: "t0p-secret" });
    expect(token?.authorization).toBe("Bearer t0p-secret");
    expect(token?.mask("said t0p-secret")).toBe("said [MLFLOW_TRACKING_TOKEN]");
    const basic = await mlflowTarget(project, {
      ...at,
      MLFLOW_TRACKING_USERNAME: "me",
      MLFLOW_TRACKING_PASSWORD: "pa:ss",
    });
    const encoded = Buffer.from("me:pa:ss").toString("base64");
    expect(basic?.authorization).toBe(`Basic ${encoded}`);
    expect(basic?.mask(`said ${encoded}`)).toBe("said [MLFLOW_TRACKING_PASSWORD]");
  });

  it.each(["http://me:pa55word@lab:5000", "me:pa55word@lab", "postgresql://me:pa55word@lab/db"])(
    "refuses %s in words that do not repeat the password",
    async (uri) => {
      const said = await refusalOf({ MLFLOW_TRACKING_URI: uri });
      expect(said).toContain("holds a user name or password");
      expect(said).not.toContain("pa55word");
    },
  );

  it.each([
    "databricks",
    "sqlite:///mlflow.db",
    "./mlruns",
    "http://lab?token=pa55word",
    "http://lab#pa55word",
  ])("refuses %s, which is no address of a server", async (uri) => {
    const said = await refusalOf({ MLFLOW_TRACKING_URI: uri });
    expect(said).toContain("is not the address of a server");
    expect(said).not.toContain("pa55word");
  });

  it("refuses a token that no header can carry without showing it", async () => {
    const environment = { MLFLOW_TRACKING_URI: "http://a", MLFLOW_TRACKING_TOKEN: "t0p\nsecret" };
    const said = await refusalOf(environment);
    expect(said).toContain("MLFLOW_TRACKING_TOKEN");
    expect(said).not.toContain("t0p");
  });

  it("names the place of what is wrong in the file", async () => {
    expect(await refusalOf({}, "schemaVersion: 1\nmlflow:\n  trackinguri: http://a\n")).toMatch(
      /understudy\.yaml:\d+:\d+/,
    );
  });
});
