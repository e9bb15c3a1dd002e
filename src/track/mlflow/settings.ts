import { join } from "node:path";
import { z } from "zod";
import { UserError } from "../../core/errors.ts";
import { exists } from "../../core/files.ts";
import type { Project } from "../../core/project.ts";
import { problemsOf, ProblemsError, readYaml } from "../../core/read-yaml.ts";
import { secretsFrom } from "../../core/secrets.ts";

/** The optional file understudy.yaml at the root of a project. */
export const ProjectSettings = z.strictObject({
  schemaVersion: z.literal(1),
  mlflow: z
    .union([
      z.literal(false),
      z.strictObject({
        trackingUri: z
          .string()
          .optional()
          .describe("Address of the MLflow server, e.g. https://mlflow.example.org; never a credential"),
        experiment: z.string().min(1).max(256).optional().describe("Experiment that runs are recorded in"),
      }),
    ])
    .optional()
    .describe("Where training runs are shown besides here; false: nowhere, whatever the environment says"),
});
export type ProjectSettings = z.infer<typeof ProjectSettings>;

/** Where runs are copied to, and with which credential. */
export interface MlflowTarget {
  /** Without a slash at its end. */
  readonly uri: string;
  readonly experiment: string;
  /** Names server and experiment; never a credential. */
  readonly key: string;
  /** Value of the header, null where the server asks for none. Never stored or shown. */
  readonly authorization: string | null;
  /** Replaces every known credential in text that is to be sent, stored or shown. */
  readonly mask: (text: string) => string;
}

type Environment = Readonly<Record<string, string | undefined>>;

const FILE = "understudy.yaml";
const EXPERIMENT = "understudy";

/**
 * The MLflow server of a project: the environment's MLFLOW_TRACKING_URI and MLFLOW_EXPERIMENT_NAME before the file; null when
 * neither names one. Credentials come from the environment alone: MLFLOW_TRACKING_USERNAME with MLFLOW_TRACKING_PASSWORD,
 * else MLFLOW_TRACKING_TOKEN. UserErrors `MLFLOW_URI_INVALID`, `MLFLOW_URI_CREDENTIALS`, `MLFLOW_CREDENTIAL_INVALID`,
 * `YAML_INVALID`, `FILE_INVALID`.
 */
export const mlflowTarget = async (
  project: Project,
  environment: Environment,
): Promise<MlflowTarget | null> => {
  const section = (await settingsOf(project)).mlflow;
  if (section === false) return null;
  const named = environment["MLFLOW_TRACKING_URI"] || section?.trackingUri;
  if (!named) return null;
  const uri = addressOf(named);
  const experiment = environment["MLFLOW_EXPERIMENT_NAME"] || section?.experiment || EXPERIMENT;
  const authorization = authorizationOf(environment);
  return {
    uri,
    experiment,
    key: `${uri}#${experiment}`,
    authorization,
    mask: maskFor(environment, authorization),
  };
};

async function settingsOf(project: Project): Promise<ProjectSettings> {
  const file = join(project.root, FILE);
  if (!(await exists(file))) return { schemaVersion: 1 };
  const yaml = await readYaml(file);
  const parsed = ProjectSettings.safeParse(yaml.value);
  if (parsed.success) return parsed.data;
  throw new ProblemsError("FILE_INVALID", `${file} has problems:`, problemsOf(parsed.error, yaml));
}

function addressOf(named: string): string {
  // Such text is never repeated: whatever stands before the @ may be a password.
  if (named.includes("@")) {
    throw new UserError("MLFLOW_URI_CREDENTIALS", "The MLflow tracking URI holds a user name or password", {
      hint: "name the server alone, and set MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN",
    });
  }
  const url = URL.canParse(named) ? new URL(named) : undefined;
  if (
    url === undefined ||
    !["http:", "https:"].includes(url.protocol) ||
    url.search !== "" ||
    url.hash !== ""
  ) {
    // Neither is a query: it may hold a key.
    throw new UserError(
      "MLFLOW_URI_INVALID",
      `The MLflow tracking URI ${named.replace(/[?#].*$/s, "?…")} is not the address of a server`,
      {
        hint: "give the address of an MLflow server, e.g. https://mlflow.example.org: runs are written over its REST API, not into a file or database",
      },
    );
  }
  return url.href.replace(/\/+$/, "");
}

function authorizationOf(environment: Environment): string | null {
  const user = environment["MLFLOW_TRACKING_USERNAME"];
  const password = environment["MLFLOW_TRACKING_PASSWORD"];
  if (user && password) return `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
  const token = environment["MLFLOW_TRACKING_TOKEN"];
  if (!token) return null;
  // What refuses such a header elsewhere quotes it.
  if (/^[\x21-\x7e]+$/.test(token)) return `Bearer ${token}`;
  throw new UserError(
    "MLFLOW_CREDENTIAL_INVALID",
    "MLFLOW_TRACKING_TOKEN holds blanks, line ends or letters that no token has",
    { hint: "set it to the token alone" },
  );
}

function maskFor(environment: Environment, authorization: string | null): (text: string) => string {
  const secrets = secretsFrom(environment);
  const sent = authorization?.split(" ")[1];
  const word = authorization?.startsWith("Basic") ? "[MLFLOW_TRACKING_PASSWORD]" : "[MLFLOW_TRACKING_TOKEN]";
  return (text) => {
    const masked = secrets.mask(text);
    return sent === undefined ? masked : masked.replaceAll(sent, word);
  };
}
