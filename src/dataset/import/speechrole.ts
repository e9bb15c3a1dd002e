/** Roles of SpeechRole-Data that speak Chinese, by stem: their language is not told by the corpus otherwise. */
export const CHINESE_STEMS: ReadonlySet<string> = new Set([
  "hutao",
  "raidenShogun",
  "wanderer",
  "ayaka",
  "zhongli",
  "liyunlong",
  "wangduoyu",
  "weixiaobao",
  "jiumozhi",
  "wangyuyan",
  "zhangwuji",
  "zhaomin",
  "huangrong",
  "guojing",
  "wukong",
  "yaemiko",
]);

/**
 * Roles that the authors very likely held out: a list named dev_roles in their code, used nowhere, has exactly these. Only
 * a proposal for the spec that an import writes.
 */
export const LIKELY_HELD_OUT: readonly string[] = [
  "ayaka",
  "liyunlong",
  "guojing",
  "Luna",
  "Penny",
  "Queen Elizabeth I",
  "Twilight Sparkle",
  "Jack Sparrow",
  "Gregory House",
  "Michael Scott",
  "Sherlock Holmes",
  "Logan",
  "Judge Dredd",
  "Tyler Hawkins",
  "Robert Angier",
  "Stanley Ipkiss",
  "Wade Wilson",
  "James Bond",
  "John Keating",
  "Theodore Twombly",
];

/** What the publisher states. */
export const PUBLISHED = { roles: 98, testSessions: 392, sessionsPerRole: 4 } as const;

// Fewer names than this may be any corpus that has a Luna and a Penny.
const FEWEST_KNOWN = 10;

/** True for the stems of SpeechRole-Data, or of a good part of it. */
export const isSpeechRole = (stems: Iterable<string>): boolean => {
  const known = new Set([...CHINESE_STEMS, ...LIKELY_HELD_OUT]);
  return [...stems].filter((stem) => known.has(stem)).length >= FEWEST_KNOWN;
};
