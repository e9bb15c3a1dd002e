import { createServer } from "node:http";
import { z } from "zod";
import { wordsIn } from "./pack-words.ts";
import { randomOf } from "./pack-voice.ts";

export const DIMENSION = 256;

const Request = z.looseObject({ inputs: z.array(z.string()) });

/** An embedding endpoint on this machine: texts are near when they share most of their words, and not otherwise. */
export const startEmbedder = async (): Promise<{ readonly url: string; readonly close: () => void }> => {
  const words = new Map<string, Float64Array>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => void parts.push(part));
    request.on("end", () => {
      const { inputs } = Request.parse(JSON.parse(Buffer.concat(parts).toString("utf8")));
      response.setHeader("content-type", "application/json");
      response.end(`[${inputs.map((text) => vectorOf(text, words)).join(",")}]`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the embedder has no port");
  return { url: `http://127.0.0.1:${address.port}/`, close: () => server.close() };
};

function vectorOf(text: string, words: Map<string, Float64Array>): string {
  const sum = new Float64Array(DIMENSION);
  for (const word of wordsIn(text)) {
    const known = words.get(word) ?? wordVector(word);
    words.set(word, known);
    for (let index = 0; index < DIMENSION; index++) sum[index] = (sum[index] ?? 0) + (known[index] ?? 0);
  }
  return `[${Array.from(sum, (value) => value.toFixed(2)).join(",")}]`;
}

function wordVector(word: string): Float64Array {
  let seed = 7;
  for (const character of word) seed = Math.imul(seed, 31) + (character.codePointAt(0) ?? 0);
  const random = randomOf(seed);
  return Float64Array.from({ length: DIMENSION }, () => random() - 0.5);
}
