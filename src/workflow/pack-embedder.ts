import { join, resolve } from "node:path";
import type { Clock } from "../core/clock.ts";
import type { Project } from "../core/project.ts";
import {
  cachedEmbedder,
  endpointEmbedder,
  payloadEmbedder,
  VectorCache,
  type Embedder,
  type EmbeddingModel,
  type OpenEmbedder,
} from "../dataset/index.ts";
import { preparePython } from "../launch/index.ts";

export interface EmbedderRequest {
  readonly project: Project;
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly fetch: typeof fetch;
  readonly signal: AbortSignal;
  /** Hides credentials in what a server said. */
  readonly mask: (text: string) => string;
  /** What is done, e.g. each line of pip. */
  readonly onLine: (text: string) => void;
  /** Told how many texts a model was asked for. */
  readonly onEmbedded: (texts: number) => void;
}

// What a program needs to run at all; credentials stay here.
const INHERITED = ["PATH", "HOME", "LANG", "TMPDIR"] as const;

/**
 * Opens the embedding models of a spec for its pack: one in a folder runs in the payload's Python environment, which is made
 * when it is not there; others are asked at their endpoint. Vectors are kept by text in the state folder. Errors of
 * `preparePython`, `payloadEmbedder` and `endpointEmbedder`.
 */
export const packEmbedder =
  (request: EmbedderRequest): OpenEmbedder =>
  async (model) => {
    const embedder = "folder" in model ? await localEmbedder(model, request) : remoteEmbedder(model, request);
    const cache = new VectorCache(
      join(request.project.state, "datasets", "vectors"),
      embedder.fingerprint,
      request.clock,
    );
    return cachedEmbedder(embedder, cache, request.onEmbedded);
  };

async function localEmbedder(
  { model, folder }: Extract<EmbeddingModel, { folder: string }>,
  { project, clock, environment, signal, onLine }: EmbedderRequest,
): Promise<Embedder> {
  const payload = join(project.launchers, "payload");
  const python = await preparePython({
    project,
    payload,
    profile: { device: "cpu" },
    environment,
    clock,
    onLine,
    signal,
  });
  return payloadEmbedder({
    model,
    folder: resolve(project.datasets, folder),
    python,
    payload,
    environment: Object.fromEntries(INHERITED.map((name) => [name, environment[name]])),
  });
}

function remoteEmbedder(
  { endpoint, ...model }: Extract<EmbeddingModel, { endpoint: string }>,
  { environment, fetch, clock, mask }: EmbedderRequest,
): Embedder {
  const token = environment["HF_TOKEN"];
  const options = { ...model, url: endpoint, ...(token === undefined ? {} : { token: (): string => token }) };
  return endpointEmbedder(options, { fetch, clock, mask });
}
