import type { CloudWatchLogsClient } from "@aws-sdk/client-cloudwatch-logs";
import type { S3Client } from "@aws-sdk/client-s3";
import type { SageMakerClient } from "@aws-sdk/client-sagemaker";
import type { STSClient } from "@aws-sdk/client-sts";
import type { SageMakerProfile } from "./launcher.ts";

/** Clients of the provider, each loaded and made when it is first needed. */
export interface Aws {
  sagemaker(): Promise<SageMakerClient>;
  s3(): Promise<S3Client>;
  logs(): Promise<CloudWatchLogsClient>;
  sts(): Promise<STSClient>;
  /** Closes the connections of those that were made. */
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

interface Closable {
  destroy(): void;
}

/**
 * Credentials come from the launching environment by name (AWS_ACCESS_KEY_ID, AWS_PROFILE), else from where the
 * provider's own programs find them. Every call has a deadline; with `once` none is tried again.
 */
export const openAws = (
  profile: SageMakerProfile,
  environment: Environment,
  { once: isOnce = false }: { readonly once?: boolean } = {},
): Aws => {
  const common = {
    region: profile.region,
    ...(profile.endpoint === undefined ? {} : { endpoint: profile.endpoint }),
    ...credentialsIn(environment),
    requestHandler: { connectionTimeout: 10_000, requestTimeout: 60_000, throwOnRequestTimeout: true },
  };
  // Throttling is ours to answer (pace.ts): two who wait for each other would wait for minutes.
  const once = { ...common, maxAttempts: 1 };
  const made: Closable[] = [];
  const keep = <Client extends Closable>(client: Client): Client => {
    made.push(client);
    return client;
  };
  const sagemaker = lazily(async () => {
    const sdk = await import("@aws-sdk/client-sagemaker");
    return keep(new sdk.SageMakerClient(once));
  });
  const s3 = lazily(async () => {
    const sdk = await import("@aws-sdk/client-s3");
    const style = { forcePathStyle: profile.endpoint !== undefined };
    return keep(
      new sdk.S3Client({ ...common, ...style, maxAttempts: isOnce ? 1 : 5, retryMode: "adaptive" }),
    );
  });
  const logs = lazily(async () => {
    const sdk = await import("@aws-sdk/client-cloudwatch-logs");
    return keep(new sdk.CloudWatchLogsClient(once));
  });
  const sts = lazily(async () => {
    const sdk = await import("@aws-sdk/client-sts");
    return keep(new sdk.STSClient({ ...common, maxAttempts: isOnce ? 1 : 3 }));
  });
  return {
    sagemaker,
    s3,
    logs,
    sts,
    close: async () => {
      for (const client of made.splice(0)) client.destroy();
    },
  };
};

function credentialsIn(environment: Environment): {
  readonly credentials?: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
  };
  readonly profile?: string;
} {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    AWS_SESSION_TOKEN: sessionToken,
    AWS_PROFILE: profile,
  } = environment;
  if (accessKeyId && secretAccessKey)
    return { credentials: { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) } };
  return profile ? { profile } : {};
}

function lazily<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined;
  return async () => (value ??= make());
}
