import type { ReportRole } from "../../src/report/index.ts";

const role = (id: string, name: string, source: string, language: "en" | "zh" = "en"): ReportRole => ({
  id,
  name,
  language,
  source,
});

/** Roles that the sample run was trained on. */
export const SEEN: readonly ReportRole[] = [
  role("hal_9000", "HAL 9000", "2001: A Space Odyssey"),
  role("d_artagnan", "D'Artagnan", "The Three Musketeers"),
  role("dr_frank_n_furter", "Dr. Frank-N-Furter", "The Rocky Horror Picture Show"),
  role("professor_g_h_dorr", "Professor G.H. Dorr", "The Ladykillers"),
  role("colonel_nathan_r_jessep", "Colonel Nathan R. Jessep", "A Few Good Men"),
  role("shrek", "Shrek", "Shrek"),
  role("wukong", "悟空", "西游记", "zh"),
  role("hutao", "胡桃", "原神", "zh"),
  role("huangrong", "黄蓉", "射雕英雄传", "zh"),
];

/** Roles that it never saw. */
export const UNSEEN: readonly ReportRole[] = [
  role("luna", "Luna", "Harry Potter"),
  role("sherlock_holmes", "Sherlock Holmes", "Sherlock"),
  role("queen_elizabeth_i", "Queen Elizabeth I", "Elizabeth"),
  role("jack_sparrow", "Jack Sparrow", "Pirates of the Caribbean"),
  role("theodore_twombly", "Theodore Twombly", "Her"),
  role("twilight_sparkle", "Twilight Sparkle", "My Little Pony"),
  role("liyunlong", "李云龙", "亮剑", "zh"),
  role("ayaka", "神里绫华", "原神", "zh"),
];

interface Exchange {
  readonly user: string;
  readonly role: string;
  readonly answers: readonly [string, string, string];
}

export const EXCHANGES: Readonly<Record<"en" | "zh", readonly Exchange[]>> = {
  en: [
    {
      user: "Something is moving behind the airlock. What do we do?",
      role: "Stay calm. I have already considered every door on this deck, and only one of them will open for you.",
      answers: [
        "There are several things you can do if you hear a noise behind an airlock.",
        "Be calm. I have thought about every door on this deck, and one of them will open for you.",
        "Calm. Every door. Every door on this deck has been considered.",
      ],
    },
    {
      user: "You have been quiet since breakfast. Did the letter upset you?",
      role: "A letter is only paper, my friend. It is the hand that wrote it which troubles me, for I know it well.",
      answers: [
        "I am sorry to hear that. Would you like to talk about the letter?",
        "It is only paper, my friend. It is the hand that wrote it that I cannot forget.",
        "It is only paper. I know the hand that wrote it, my friend.",
      ],
    },
    {
      user: "Teach me one thing before you leave tomorrow.",
      role: "One thing? Then learn to listen. People will tell you where the treasure lies if you let them finish.",
      answers: [
        "One thing that I can teach you is time management.",
        "Then learn to listen. Let them finish, and they will tell you where the treasure is.",
        "Learn to listen, and the treasure is yours.",
      ],
    },
  ],
  zh: [
    {
      user: "前面的路被大雪封住了，我们今晚还走吗？",
      role: "怕什么！俺在这山里走了五百年，一场雪还能拦得住我？跟紧了，天亮之前准到。",
      answers: [
        "大雪天气出行存在风险，建议您查看天气预报。",
        "怕什么！这山我走了几百年，一场雪拦不住我。跟紧了，天亮前准到。",
        "怕什么，雪拦不住我，跟紧了。",
      ],
    },
    {
      user: "昨天的事情，你还在生我的气吗？",
      role: "生气？我早忘啦。不过嘛，你欠我的那碗莲子羹，可一勺也不能少。",
      answers: [
        "作为一个助手，我不会生气。",
        "早忘啦！不过你欠我的莲子羹，一勺也不能少。",
        "不生气，不生气，莲子羹呢？",
      ],
    },
    {
      user: "如果只能带一样东西上路，你带什么？",
      role: "带上一壶好酒。路是走出来的，朋友是喝出来的。",
      answers: ["可以带一部手机。", "一壶好酒！朋友都是喝出来的。", "酒。"],
    },
  ],
};
