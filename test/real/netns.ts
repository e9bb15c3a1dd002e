import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";

/** A network namespace with an address of its own, whose link can be cut. No packet for it ever leaves this machine. */
export interface Namespace {
  /** Address inside. */
  readonly address: string;
  /** Puts a command into it. */
  readonly prefix: readonly string[];
  /** Packets vanish silently from now on. */
  cut(): void;
  mend(): void;
  remove(): void;
}

/** Needs root and `ip`. */
export const makeNamespace = (): Namespace => {
  const name = `us${process.pid}-${randomInt(1_000_000)}`;
  const [net, end] = [randomInt(256), randomInt(64) * 4];
  const subnet = `10.231.${net}.${end}/30`;
  const [outer, inner] = [`10.231.${net}.${end + 1}`, `10.231.${net}.${end + 2}`];
  const [here, there] = [`uo${randomInt(10_000_000)}`, `ui${randomInt(10_000_000)}`];
  // First of all: without the link nothing for this subnet takes the default route.
  ip("route", "add", "unreachable", subnet, "metric", "4000");
  ip("netns", "add", name);
  ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", name);
  ip("addr", "add", `${outer}/30`, "dev", here);
  ip("link", "set", here, "up");
  ip("-n", name, "addr", "add", `${inner}/30`, "dev", there);
  ip("-n", name, "link", "set", there, "up");
  ip("-n", name, "link", "set", "lo", "up");
  return {
    address: inner,
    prefix: ["nsenter", `--net=/run/netns/${name}`],
    // Only the inner end: the outer one keeps its route, so that nothing goes elsewhere.
    cut: () => ip("-n", name, "link", "set", there, "down"),
    mend: () => ip("-n", name, "link", "set", there, "up"),
    remove: () => {
      ip("link", "del", here);
      ip("netns", "del", name);
      ip("route", "del", "unreachable", subnet, "metric", "4000");
    },
  };
};

function ip(...words: readonly string[]): void {
  execFileSync("ip", words, { stdio: ["ignore", "ignore", "pipe"] });
}
