import { type Html, html, raw } from "../../core/html.ts";
import { sha256 } from "../../core/hash.ts";
import { differenceSection } from "./difference-section.ts";
import { generalisationSection } from "./generalisation-section.ts";
import { levelSection } from "./level-section.ts";
import { listenSection } from "./listen-section.ts";
import { lossSection } from "./loss-section.ts";
import { provenanceSection } from "./provenance-section.ts";
import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";
import { verdictSection } from "./verdict-section.ts";
import type { View } from "./view.ts";

const NAVIGATION = [
  ["differences", "Which is better"],
  ["generalisation", "Unseen roles"],
  ["levels", "All outcomes"],
  ["training", "Loss"],
  ["listen", "Listen"],
  ["provenance", "Provenance"],
] as const;

// Nothing is fetched from elsewhere and no script but ours runs, whatever a role card says.
const POLICY = [
  "default-src 'none'",
  "style-src 'unsafe-inline'",
  `script-src 'sha256-${Buffer.from(sha256(SCRIPT), "hex").toString("base64")}'`,
  "media-src 'self' file:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

/** The whole page: one file, with audio beside it. */
export const page = (view: View): Html =>
  html`${raw("<!doctype html>")}
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${raw(POLICY)}">
<meta name="color-scheme" content="light dark">
<title>${view.model.run}: ${view.model.verdict.headline}</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<a class="skip" href="#differences">Skip to the numbers</a>
<main>
${verdictSection(view)}
<nav aria-label="Sections">${NAVIGATION.map(([id, label]) => html`<a href="#${id}">${label}</a>`)}</nav>
${differenceSection(view)}
${generalisationSection(view)}
${levelSection(view)}
${lossSection(view)}
${listenSection(view)}
${provenanceSection(view)}
</main>
<script>${raw(SCRIPT)}</script>
</body>
</html>
`;
