import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

/** A package index that wants a token, and looks at all processes of the machine whenever it is asked for something. */
export interface TokenIndex {
  /** With user and token. */
  readonly url: string;
  readonly token: string;
  /** Answers that it gave to somebody who had the token. */
  readonly served: () => number;
  /** Processes whose arguments had the token. */
  readonly shown: () => readonly string[];
  close(): void;
}

/** Processes that anybody on this machine would see with a text among their arguments. */
export const showing = (text: string): readonly string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const words = readFileSync(join("/proc", pid, "cmdline"), "utf8").replaceAll("\0", " ");
        return words.includes(text) ? [words] : [];
      } catch {
        return [];
      }
    });

/** Serves the wheels of a folder as pip asks for them. */
export const tokenIndex = async (wheels: string): Promise<TokenIndex> => {
  const token = `hush-${process.pid}-${Date.now()}`;
  const expected = `Basic ${Buffer.from(`someone:${token}`).toString("base64")}`;
  const shown: string[] = [];
  let served = 0;
  const look = (): void => void shown.push(...showing(token));
  const timer = setInterval(look, 50);
  const server = createServer((request, response) => {
    look();
    if (request.headers.authorization !== expected) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="index"' }).end();
      return;
    }
    served += 1;
    const [, project = "", file] = /^\/simple\/([^/]+)\/([^/?#]*)/.exec(request.url ?? "") ?? [];
    const names = readdirSync(wheels).filter((name) => name.startsWith(`${project}-`));
    if (file !== undefined && file !== "") response.end(readFileSync(join(wheels, decodeURIComponent(file))));
    else {
      const links = names.map((name) => `<a href="${encodeURIComponent(name)}">${name}</a>`);
      response
        .writeHead(200, { "content-type": "text/html" })
        .end(`<html><body>${links.join("")}</body></html>`);
    }
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the index has no port");
  return {
    url: `http://someone:${token}@127.0.0.1:${address.port}/simple`,
    token,
    served: () => served,
    shown: () => shown,
    close: () => {
      clearInterval(timer);
      server.close();
    },
  };
};
