// Near-duplicate removal within roles: embedders, their cache, the two rules, and training rows near a test dialogue.
export { cachedEmbedder } from "./cached-embedder.ts";
export type { Embedder } from "./embedder.ts";
export { endpointEmbedder, type EndpointEmbedderOptions } from "./endpoint-embedder.ts";
export { nearDuplicates, type NearWorld } from "./near-duplicates.ts";
export { nearTest } from "./near-test.ts";
export { payloadEmbedder } from "./payload-embedder.ts";
export { NearSettings } from "./settings.ts";
export { VectorCache } from "./vector-cache.ts";
