import { spawn } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Letters that every encoding changes, and nothing that anything else could hold by chance. */
const word = (name: string): string => `Pl4nted/${name}+s3cret=&é${name}`;

const TOKEN = encodeURIComponent(word("index"));

/** What a shell may hold that nobody else has to see, by variable. */
export const PLANTED: Readonly<Record<string, string>> = {
  HF_TOKEN: `hf_${word("hub")}`,
  MLFLOW_TRACKING_TOKEN: word("mlflow"),
  MLFLOW_TRACKING_PASSWORD: word("password"),
  AWS_ACCESS_KEY_ID: "AKIAPLANTEDKEY000000",
  AWS_SECRET_ACCESS_KEY: word("aws"),
  AWS_SESSION_TOKEN: word("session"),
  PIP_EXTRA_INDEX_URL: `https://me:${TOKEN}@127.0.0.1:9/simple`,
};

/** What only a line of `setup` reads, from a file of the far side. */
export const SETUP_SECRET = word("setup");

const SECRETS = [
  ...Object.values(PLANTED).filter((value) => !value.startsWith("https:")),
  word("index"),
  SETUP_SECRET,
];

// Base64 of a text inside of another begins at any of three places; the letters at its ends belong to its neighbours too.
const inBase64 = (secret: string): string[] =>
  [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), Buffer.from(secret)]).toString("base64");
    return text.slice(Math.ceil((shift * 8) / 6), text.replace(/=+$/, "").length - 2);
  });

const forms = (secret: string): readonly string[] => [
  secret,
  encodeURIComponent(secret),
  encodeURI(secret),
  JSON.stringify(secret).slice(1, -1),
  Buffer.from(secret).toString("hex"),
  ...inBase64(secret),
  ...inBase64(secret).map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
];

const NEEDLES = SECRETS.flatMap((secret) =>
  forms(secret).map((form) => ({ secret, form: Buffer.from(form) })),
);

/** The secrets that some bytes hold, in any form. */
export const secretsIn = (bytes: Buffer | string): readonly string[] => {
  const text = Buffer.from(bytes);
  return [...new Set(NEEDLES.filter(({ form }) => text.includes(form)).map(({ secret }) => secret))];
};

/** Every file below a folder that holds a secret, with the secrets; the bytes of databases and their journals too. */
export const filesWithSecrets = (folder: string, but: readonly string[] = []): readonly string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || but.includes(path)) return [];
    return secretsIn(readFileSync(path)).map((secret) => `${path}: ${secret}`);
  });

// Reads all command lines again and again, and keeps each that it has not seen.
const SAMPLER = `
import glob, sys
seen = set()
with open(sys.argv[1], "ab", buffering=0) as out:
    while True:
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    line = file.read()
            except OSError:
                continue
            if line and line not in seen:
                seen.add(line)
                out.write(line + b"\\n")
`;

/** Keeps the arguments of every process of this machine from now on; the answer ends it and gives them. */
export const sampleArguments = async (folder: string): Promise<() => Promise<string>> => {
  const file = join(folder, "arguments.txt");
  const script = join(folder, "sampler.py");
  writeFileSync(script, SAMPLER);
  const sampler = spawn("python3", [script, file], { stdio: "ignore" });
  const ended = new Promise((resolve) => sampler.once("exit", resolve));
  onTestFinished(() => void sampler.kill("SIGKILL"));
  return async () => {
    sampler.kill("SIGKILL");
    await ended;
    return readFileSync(file, "latin1").replaceAll("\0", " ");
  };
};
