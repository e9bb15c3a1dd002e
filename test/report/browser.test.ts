import { existsSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildReport, writeReport } from "../../src/report/index.ts";
import { sampleInput } from "./sample-input.ts";
import { removeFolder } from "../support/remove-folder.ts";

const CHROMIUM = process.env["UNDERSTUDY_CHROMIUM"] ?? "/usr/bin/chromium";
const QUIET = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const present = existsSync(CHROMIUM);

describe.skipIf(!present)("the page in a real browser (Chromium)", () => {
  let folder: string;
  let browser: Browser;
  let url: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "browser-"));
    const input = await sampleInput(folder);
    url = pathToFileURL(await writeReport(buildReport(input), input, join(folder, "report"))).href;
    browser = await chromium.launch({ executablePath: CHROMIUM, args: QUIET });
  });
  afterAll(async () => {
    await browser.close();
    removeFolder(folder);
  });

  const open = async (
    width: number,
    colorScheme: "light" | "dark",
  ): Promise<{ readonly page: Page; readonly complaints: string[] }> => {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
    page.on("request", (request) => {
      if (!request.url().startsWith("file://")) complaints.push(`request: ${request.url()}`);
    });
    await page.goto(url);
    return { page, complaints };
  };

  describe.each([1280, 390])("%i pixels wide", (width) => {
    it.each(["light", "dark"] as const)("fits and is quiet in the %s scheme", async (scheme) => {
      const { page, complaints } = await open(width, scheme);
      await page.evaluate(`for (const group of document.querySelectorAll("details")) group.open = true`);
      await expect.poll(async () => page.locator("a.clip").count()).toBe(0);
      const overflow = await page.evaluate<number>(
        `document.documentElement.scrollWidth - document.documentElement.clientWidth`,
      );
      expect(overflow).toBe(0);
      const shown = await page.evaluate<string[]>(
        `[...document.querySelectorAll("svg.chart")].filter((svg) => getComputedStyle(svg).display !== "none").map((svg) => svg.classList[1])`,
      );
      expect(shown).toEqual(width === 390 ? ["narrow", "narrow"] : ["wide", "wide"]);
      expect(complaints).toEqual([]);
      await page.close();
    });
  });

  it("plays an answer, and only one at a time", async () => {
    const { page, complaints } = await open(1280, "light");
    await page.evaluate(`document.querySelector(".dialogue").open = true`);
    const before = await page.evaluate<number>(`document.querySelector("audio").readyState`);
    expect(before).toBe(0);
    const played = await page.evaluate<{ duration: number; paused: boolean; error: unknown }>(`(async () => {
      const [first, second] = document.querySelectorAll(".dialogue[open] .answer audio");
      for (const audio of [first, second]) { audio.muted = true; await audio.play(); }
      return { duration: second.duration, paused: first.paused, error: second.error };
    })()`);
    expect(played.error).toBeNull();
    expect(played.duration).toBeGreaterThan(0.4);
    expect(played.paused).toBe(true);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("turns links into players when a role is opened with the keyboard", async () => {
    const { page } = await open(1280, "light");
    const role = page.locator("details.all").first();
    await role.locator("> summary").focus();
    await page.keyboard.press("Enter");
    await role.locator("details.role > summary").first().focus();
    await page.keyboard.press("Enter");
    const dialogue = role.locator("details.dialogue").first();
    expect(await dialogue.locator("a.clip").count()).toBeGreaterThan(0);
    await dialogue.locator("> summary").focus();
    await page.keyboard.press("Enter");
    await expect.poll(async () => dialogue.locator("audio").count()).toBeGreaterThan(3);
    expect(await dialogue.locator("a.clip").count()).toBe(0);
    await page.close();
  });

  it("opens the dialogue of a failed answer, and the measures of its answers together", async () => {
    const { page, complaints } = await open(1280, "light");
    await page.evaluate(
      `for (const group of document.querySelectorAll("#failures, .where details")) group.open = true`,
    );
    const link = page.locator(".where a").first();
    const name = await link.textContent();
    await link.click();
    await page.waitForSelector("details.all details.dialogue[open]");
    const dialogue = page.locator("details.all details.dialogue[open]");
    expect(await dialogue.locator("> summary").textContent()).toContain(name);
    await dialogue.locator(".measures > summary").first().click();
    await expect.poll(async () => dialogue.locator(".answer .measures[open]").count()).toBe(3);
    expect(complaints).toEqual([]);
    await page.close();
  });

  it("has text that can be read in both schemes", async () => {
    for (const scheme of ["light", "dark"] as const) {
      const { page } = await open(1280, scheme);
      const weak = await page.evaluate<string[]>(CONTRAST);
      expect(weak, scheme).toEqual([]);
      await page.close();
    }
  });
});

// WCAG contrast of text colours against their backgrounds, and of chart colours against the page.
const CONTRAST = `(() => {
  const probe = document.createElement("canvas").getContext("2d");
  const rgb = (color) => { probe.clearRect(0, 0, 1, 1); probe.fillStyle = color; probe.fillRect(0, 0, 1, 1); return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3); };
  const light = (color) => { const [r, g, b] = rgb(color).map((v) => { const s = v / 255; return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const pairs = [["--ink", "--paper", 7], ["--ink", "--raised", 7], ["--muted", "--paper", 4.5], ["--muted", "--raised", 4.5], ["--accent", "--paper", 4.5], ["--good", "--good-back", 4.5], ["--bad", "--bad-back", 4.5], ["--open", "--open-back", 4.5], ["--open", "--paper", 4.5], ["--bad", "--raised", 4.5], ["--good", "--raised", 4.5], ["--seen", "--paper", 3], ["--unseen", "--paper", 3]];
  return pairs.filter(([a, b, least]) => !(contrast(colour(a), colour(b)) >= least)).map(([a, b]) => a + " on " + b + " " + contrast(colour(a), colour(b)).toFixed(2));
})()`;
