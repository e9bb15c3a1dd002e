import type { Transport } from "../transport/transport.ts";

/** Opened at the first command: what needs no machine works without one. */
export const lazyTransport = (name: string, open: () => Promise<Transport>): Transport => {
  let opening: Promise<Transport> | undefined;
  return {
    name,
    exec: async (argv, options) => {
      opening ??= open().catch((error: unknown) => {
        // A wrong ssh_config may be mended while we run.
        opening = undefined;
        throw error;
      });
      return (await opening).exec(argv, options);
    },
    close: async () => (await opening?.catch(() => undefined))?.close(),
  };
};
