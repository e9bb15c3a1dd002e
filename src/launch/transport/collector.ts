/** Keeps what one stream brings, or hands it on. */
export interface Collector {
  /** Rejects with {@link TooLong}, or with what the receiver rejects. */
  take(chunk: Buffer): Promise<void>;
  bytes(): Buffer;
}

export class TooLong extends Error {}

export const collector = (limit: number, receiver?: (chunk: Buffer) => Promise<void>): Collector => {
  const kept: Buffer[] = [];
  let length = 0;
  return {
    take: async (chunk) => {
      if (receiver) return receiver(chunk);
      length += chunk.length;
      if (length > limit) throw new TooLong(`more than ${limit} bytes of output`);
      kept.push(chunk);
    },
    bytes: () => Buffer.concat(kept),
  };
};
