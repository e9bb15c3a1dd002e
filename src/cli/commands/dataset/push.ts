import { publishedCard, pushDataset, type PushResult } from "../../../dataset/index.ts";
import { defineCommand } from "../../command.ts";
import { bytesText, countText } from "../../quantities.ts";
import { showHubProgress } from "./hub-progress.ts";

export const datasetPush = defineCommand({
  positionals: {
    name: { describe: "Data set: datasets/NAME.yaml", complete: "dataset" },
    repo: { describe: "Repository on the Hugging Face Hub: OWNER/NAME, made if it is not there" },
  },
  options: {
    public: { type: "boolean", describe: "Everyone may read it; without this it is private" },
    revision: { type: "string", value: "BRANCH", describe: "Branch to push to; default main" },
    replace: { type: "boolean", describe: "Take over a repository whose data did not come from here" },
    dryRun: { type: "boolean", describe: "Say what would be sent, and send nothing" },
  },
  json: true,
  details:
    "Needs HF_TOKEN (https://huggingface.co/settings/tokens, with write permission), --dry-run does not; HF_ENDPOINT names another Hub. Sends the shards that the lock names, the spec (unless it names a place on this machine by a whole path), the lock and a card, nothing else, and only what the Hub does not have yet. Stopped at any point, the same command goes on. datasets/NAME.hub.json records the commit.",
  examples: [
    "understudy dataset push greenroom my-name/greenroom --dry-run",
    "understudy dataset push greenroom my-name/greenroom",
  ],
  handler: async ({ name, repo, revision, replace, dryRun, public: isPublic }, context) => {
    const { print, signal, clock, environment } = context;
    const project = await context.project();
    const result = await pushDataset({
      project,
      name,
      repo,
      card: async (lock) => {
        const card = await publishedCard(project, lock, { repo, signal });
        if (card.plainBecause !== null) print.warn(PLAIN_CARD[card.plainBecause](name));
        return card;
      },
      private: !isPublic,
      ...(revision === undefined ? {} : { branch: revision }),
      replace,
      dryRun,
      token: environment["HF_TOKEN"],
      endpoint: environment["HF_ENDPOINT"],
      fetch: context.fetch,
      clock,
      signal,
      onProgress: showHubProgress(context, repo),
    });
    print.progress("");
    print.result({ name, dryRun, ...result }, () => linesOf(name, result));
    if (!result.askedWithToken) print.warn(withoutToken(result));
  },
});

function linesOf(name: string, result: PushResult): string[] {
  const { revision, uploaded, uploadBytes, deleted, unchanged, visibility, url, branch, commits } = result;
  const counts = `${countText(uploaded.length)} files (${bytesText(uploadBytes)}) in ${countText(commits)} commits`;
  const kept = unchanged > 0 ? [`  ${countText(unchanged)} files are there already`] : [];
  const gone =
    deleted.length > 0 ? [`  ${countText(deleted.length)} shards of an older push are deleted`] : [];
  if (revision === null) {
    const made = result.created ? `make the ${visibility} repository ${result.repo} and ` : "";
    const shown = uploaded.slice(0, SHOWN).map((path) => `  ${path}`);
    const more = uploaded.length > SHOWN ? [`  and ${countText(uploaded.length - SHOWN)} more`] : [];
    return [`Would ${made}send ${counts}:`, ...shown, ...more, ...kept, ...gone];
  }
  const head = commits === 0 ? `${name} is on the Hub already: nothing was sent` : `Sent ${counts}`;
  return [head, ...kept, ...gone, `${visibility}: ${url}`, `branch ${branch}, commit ${revision}`];
}

// The Hub answers alike for a repository that is not there and for one that is not to be seen.
const withoutToken = ({ repo, created }: PushResult): string =>
  `the Hub was asked without a token, since HF_TOKEN is not set${created ? `: if ${repo} is there and private, less may have to be sent` : ""}; pushing needs one`;

/** Why a card says little. */
export const PLAIN_CARD = {
  "no spec": (name: string): string =>
    `there is no datasets/${name}.yaml: the card says neither licence nor description`,
  "spec changed": (name: string): string =>
    `datasets/${name}.yaml has changed since it was packed: neither it nor its licence and description are sent. understudy dataset pack ${name}`,
};

const SHOWN = 10;
