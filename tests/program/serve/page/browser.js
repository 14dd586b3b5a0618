// Debian's chromium, and pages of which everything that goes wrong is kept.

import assert from "node:assert/strict";
import {chromium} from "playwright-core";

const kPhone = {width: 390, height: 844};
const kDesk = {width: 1280, height: 900};

export function launch() {
  return chromium.launch({executablePath: "/usr/bin/chromium", args: ["--no-sandbox"]});
}

// A page on `origin`. Messages of failed answers that the test means to provoke are named by their
// status: {refusals: [409]}.
export async function openPage(browser, origin, hash, {refusals = [], phone = false, dark = false} = {}) {
  const context = await browser.newContext({viewport: phone ? kPhone : kDesk, colorScheme: dark ? "dark" : "light", reducedMotion: "reduce"});
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(`error: ${error.stack}`));
  page.on("console", (message) => {
    if (!["error", "warning"].includes(message.type())) return;
    const meant = refusals.some((status) => message.text().includes(`status of ${status} `));
    if (!meant) problems.push(`console: ${message.text()}`);
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(origin + "/") && !request.url().startsWith("blob:")) problems.push(`request to ${request.url()}`);
  });
  await page.goto(`${origin}/${hash}`);
  return {page, problems, async close() {
    await context.close();
    assert.deepEqual(problems, []);
  }};
}

// Whether the page is no wider than the window.
export async function fits(page) {
  return page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
}

// The controls that are shown and that a screen reader could not name.
export function namelessControls(page) {
  return page.evaluate(() => [...document.querySelectorAll("input, select, textarea, button, [role=button], [role=meter], svg[role=img]")]
    .filter((element) => element.checkVisibility())
    .filter((element) => !(element.labels?.length || element.getAttribute("aria-label") || element.textContent.trim()))
    .map((element) => element.outerHTML));
}

// The texts that are shown with less contrast than 4.5 to 1 (WCAG 2, 1.4.3), each with its contrast.
export function paleTexts(page) {
  return page.evaluate(() => {
    const context = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    // The colour that these colours make, painted one over the other on white.
    const painted = (colours) => {
      for (const colour of ["white", ...colours]) {
        context.fillStyle = colour;
        context.fillRect(0, 0, 1, 1);
      }
      return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
    };
    const luminance = (colour) => colour.map((value) => value / 255)
      .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
      .reduce((sum, value, i) => sum + [0.2126, 0.7152, 0.0722][i] * value, 0);
    const contrast = (element) => {
      const backgrounds = [];
      for (let box = element; box; box = box.parentElement) backgrounds.unshift(getComputedStyle(box).backgroundColor);
      const [dark, light] = [painted(backgrounds), painted([...backgrounds, getComputedStyle(element).color])]
        .map(luminance).sort((a, b) => a - b);
      return (light + 0.05) / (dark + 0.05);
    };
    return [...document.querySelectorAll("body *")]
      .filter((element) => element.checkVisibility() && !element.closest("svg, :disabled"))
      .filter((element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()))
      .map((element) => [contrast(element), element.outerHTML])
      .filter(([value]) => value < 4.5);
  });
}
