import type { Clock } from "../../core/clock.ts";
import { InternalError, RemoteError } from "../../core/errors.ts";
import { layoutAt } from "../attempt-layout.ts";
import { downloadAll } from "../download-all.ts";
import type { ArtifactStore, JobRef, LogChunk, LogCursor, RefOf } from "../schema.ts";
import { farArtifacts, farLog, type Transport } from "../transport/index.ts";
import type { Hosts } from "./hosts.ts";

/** The reference of this launcher, or InternalError `REF_KIND`. */
export const sshRef = (ref: JobRef): RefOf<"ssh"> => {
  if (ref.kind === "ssh") return ref;
  throw new InternalError("REF_KIND", `${ref.marker} was started on ${ref.kind}, not over SSH`);
};

/** The way to the host that has a job. RemoteErrors `HOST_UNKNOWN`, `TRANSPORT_…`. */
export const transportOf = async (hosts: Hosts, ref: RefOf<"ssh">): Promise<Transport> => {
  const host = hosts.named(ref.host);
  if (host) return host.transport();
  throw new RemoteError("HOST_UNKNOWN", `${ref.host} is not among the hosts of the profile any more`, {
    hint: `put it back into the list of hosts to reach what lies there: ${ref.folder}`,
  });
};

/** Lines of a job's log; with `follow` a lost connection is waited out. */
export async function* readLogs(
  ref: RefOf<"ssh">,
  cursor: LogCursor,
  options: { readonly follow: boolean; readonly signal: AbortSignal },
  { hosts, clock }: { readonly hosts: Hosts; readonly clock: Clock },
): AsyncGenerator<LogChunk> {
  const transport = await transportOf(hosts, ref);
  yield* farLog(transport, layoutAt(ref.folder).log, cursor, options, clock);
}

/** Files of a run on its host, which is connected to when the first one is asked for. */
export const lazyArtifacts = (open: () => Promise<Transport>, runFolder: string): ArtifactStore => {
  const store = async (): Promise<ArtifactStore> => farArtifacts(await open(), runFolder);
  return {
    list: async (folder) => (await store()).list(folder),
    read: async (path, start, end) => (await store()).read(path, start, end),
    digest: async (path) => (await store()).digest(path),
    download: async (path, to, options) => (await store()).download(path, to, options),
    downloadMany: async (files, options) => downloadAll(await store(), files, options),
  };
};
