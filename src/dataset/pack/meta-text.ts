import { quote } from "../text.ts";

// What the model that wrote the dialogues says of itself or of its task.
const META: readonly RegExp[] = [
  /\bas an? (?:ai|artificial intelligence|(?:large )?language model)\b/i,
  /\bi(?:'m| am) (?:just )?an? (?:ai|(?:large )?language model|chatbot)\b/i,
  /\b(?:openai|chatgpt|gpt-?[34])\b/i,
  /作为(?:一个|一名)?(?:ai|人工智能|语言模型|大模型)/i,
  /我是(?:一个|一名)?(?:ai|人工智能|语言模型)/i,
  /\[character script\]/i,
  /\{\s*"(?:dialogue|user|role)"\s*:/,
];
// Something done rather than said; a voice reads it aloud.
const DIRECTIONS: readonly RegExp[] = [
  /\*[^*\n]{2,60}\*/,
  /^\s*[([（【][^)\]）】\n]{2,60}[)\]）】]/,
  /[([（【](?:[^)\]）】\n]{0,40}\b(?:laughs?|sighs?|smiles?|pauses?|whispers?|nods?|chuckles?|grins?)\b|[^)\]）】\n]{0,20}(?:笑|叹气|点头|沉默|停顿|皱眉))/iu,
];

/** What a model wrote that no role says; undefined for a plain answer. */
export const metaText = (
  text: string,
): { readonly reason: "meta_text" | "stage_direction"; readonly detail: string } | undefined => {
  const meta = firstMatch(META, text);
  if (meta !== undefined)
    return { reason: "meta_text", detail: `${quote(meta)} speaks of the writing model: ${quote(text)}` };
  const direction = firstMatch(DIRECTIONS, text);
  if (direction !== undefined)
    return { reason: "stage_direction", detail: `${quote(direction)} is done and not said: ${quote(text)}` };
  return undefined;
};

function firstMatch(patterns: readonly RegExp[], text: string): string | undefined {
  for (const pattern of patterns) {
    const match = pattern.exec(text);
    if (match) return match[0];
  }
  return undefined;
}
