// Opens pages as a person does and says what it saw: one JSON document on standard output.
// node pages.mjs BASE CHROMIUM PICTURES [TOGETHER], with the steps as JSON on standard input; PICTURES may be "" for none:
// [{name, path, width?, dark?, barriers?, do: [[selector, "click" | "text" | "set" | "swipe" | "size" | "late" | "lacks" | "focus" | "tab" | "type" | "key" | "offline" | "drag" | "save" | "popup" | "back", …]], expect: [selector or text, …]}]

import { readFileSync } from "node:fs";
import axe from "axe-core";
import { chromium } from "playwright-core";

const [base, executablePath, pictures, together = "1"] = process.argv.slice(2);
const steps = JSON.parse(readFileSync(0, "utf8"));
const args = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const PATIENCE_MS = 240_000; // a machine that does other things too may take long; only what fails waits for it
const browser = await chromium.launch({ executablePath, args });
const seen = new Array(steps.length);

async function visit(step) {
  const isPhone = (step.width ?? 1280) < 500;
  const context = await browser.newContext({ viewport: { width: step.width ?? 1280, height: 900 }, colorScheme: step.dark ? "dark" : "light", hasTouch: isPhone });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const [errors, outside] = [[], []];
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error.stack)));
  page.on("request", (request) => /^(data|blob):/.test(request.url()) || request.url().startsWith(base) || outside.push(request.url()));
  const [missing, saved] = [[], []];
  await page.addInitScript(() => {
    window.shifted = 0;
    new PerformanceObserver((list) => {
      for (const each of list.getEntries()) if (!each.hadRecentInput) window.shifted += each.value;
    }).observe({ type: "layout-shift", buffered: true });
  });
  try {
    await page.goto(base + step.path, { waitUntil: "networkidle" });
    for (const [selector, how, ...more] of step.do ?? []) {
      const place = page.locator(selector).first();
      if (how === "click") await place.click();
      else if (how === "text") await ((await place.evaluate((made) => made.tagName)) === "SELECT" ? place.selectOption(more[0]) : place.fill(more[0]));
      else if (how === "set") await place.evaluate((made, [name, value]) => made.setAttribute(name, value), more);
      else if (how === "focus") await place.focus();
      else if (how === "key") await page.keyboard.press(more[0]);
      else if (how === "swipe") await swiped(page, place, more);
      else if (how === "lacks") await lacks(place, more[0]);
      else if (how === "size") await page.setViewportSize({ width: more[0], height: 900 });
      else if (how === "late") await page.route(selector, (route) => setTimeout(() => route.continue().catch(() => {}), more[0]));
      else if (how === "tab") await tabbed(page, selector);
      else if (how === "type") await page.keyboard.type(more[0]);
      else if (how === "offline") await context.setOffline(true);
      else if (how === "back") await page.goBack({ waitUntil: "networkidle" });
      else if (how === "save") {
        const [download] = await Promise.all([page.waitForEvent("download"), place.click()]);
        saved.push({ name: download.suggestedFilename(), base64: readFileSync(await download.path()).toString("base64") });
      } else if (how === "popup") {
        await context.route(/^https:/, (route) => route.fulfill({ body: "another site" }));
        const [download, opened] = await Promise.all([page.waitForEvent("download"), context.waitForEvent("page"), place.click()]);
        await opened.waitForLoadState();
        saved.push({ name: download.suggestedFilename(), opened: opened.url(), base64: readFileSync(await download.path()).toString("base64") });
      } else if (how === "file") await place.setInputFiles(more[0]);
      else if (how === "drag") {
        const box = await place.boundingBox();
        const [x1, y1, x2, y2] = more;
        await page.mouse.move(box.x + box.width * x1, box.y + box.height * y1);
        await page.mouse.down();
        await page.mouse.move(box.x + box.width * x2, box.y + box.height * y2, { steps: 5 });
        await page.mouse.up();
      }
      await page.waitForLoadState("networkidle");
    }
    for (const wanted of step.expect ?? []) {
      const found = /^[.#[a-z]/.test(wanted) ? page.locator(wanted).first() : page.getByText(wanted).first();
      await found.waitFor({ state: "visible" }).catch(() => missing.push(wanted));
    }
    if (pictures) await page.screenshot({ path: `${pictures}/${step.name}.png`, fullPage: true });
  } catch (error) {
    errors.push(String(error));
  }
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  const shifted = await page.evaluate(() => window.shifted);
  const barriers = step.barriers ? await barriersOf(page) : [];
  const found = { name: step.name, url: page.url(), errors, outside, missing, saved, overflow: Math.max(0, wide), shifted, barriers, told: await page.locator("body").innerText() };
  await context.close();
  return found;
}

/** Moves a finger from one place of a box to another, as shares of it. */
async function swiped(page, place, [x1, y1, x2, y2]) {
  await place.scrollIntoViewIfNeeded();
  const box = await place.boundingBox();
  const session = await page.context().newCDPSession(page);
  const at = (share) => ({ x: box.x + box.width * (x1 + (x2 - x1) * share), y: box.y + box.height * (y1 + (y2 - y1) * share) });
  await session.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [at(0)] });
  for (const share of [0.2, 0.4, 0.6, 0.8, 1]) await session.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [at(share)] });
  await session.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
}

/** What must not be read at a place. */
async function lacks(place, text) {
  const found = await place.innerText();
  if (found.includes(text)) throw new Error(`${text} stands in ${found}`);
}

/** Presses Tab until what is named has the focus, as somebody without a mouse does. */
async function tabbed(page, selector) {
  for (let turn = 0; turn < 300; turn++) {
    await page.keyboard.press("Tab");
    try {
      if (await page.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
    } catch {
      await page.waitForLoadState("networkidle"); // the key before led to another page
    }
  }
  throw new Error(`Tab does not reach ${selector}`);
}

/** What keeps some people from using the page: rules of axe that it breaks (WCAG 2.2 A and AA, and good practice), and where. */
async function barriersOf(page) {
  await page.evaluate(axe.source); // not as a script of the page, which its policy would refuse
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, help, nodes }) => ({ rule: id, help, count: nodes.length, places: nodes.slice(0, 4).map(({ target, html, any }) => ({ target: target.join(" "), html: html.slice(0, 160), why: any[0]?.message })) }));
  });
}

let next = 0;
const visitor = async () => {
  while (next < steps.length) {
    const at = next++;
    seen[at] = await visit(steps[at]);
  }
};
await Promise.all(Array.from({ length: Number(together) }, visitor));
await browser.close();
console.log(JSON.stringify(seen));
