import { type Html, html } from "../../core/html.ts";
import type { View } from "./view.ts";

/** `live`: a player at once. `late`: a link that becomes a player when its group is opened, so that thousands cost nothing. */
export type PlayerKind = "live" | "late";

/** A clip beside the page, or the reason why there is none. Nothing is loaded before someone presses play. */
export const player = (
  { audio }: View,
  { id, label, kind }: { readonly id: string | null; readonly label: string; readonly kind: PlayerKind },
): Html => {
  const file = id === null ? undefined : audio.get(id);
  if (file === undefined) return html`<span class="silent">no audio</span>`;
  if ("missing" in file) return html`<span class="silent">no audio: ${file.missing}</span>`;
  return kind === "live"
    ? html`<audio controls preload="none" src="${file.href}" aria-label="${label}"></audio>`
    : html`<a class="clip" href="${file.href}" aria-label="${label}">play</a>`;
};
