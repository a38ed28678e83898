// The browser, the pages and how they are opened.

import { chromium } from "playwright-core";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

/** The site, as it is committed; MAGE_SITE names another, with a slash at its end. */
export const site = process.env.MAGE_SITE ?? fileURLToPath(new URL("../../../docs/", import.meta.url));

/** Directories of the site whose pages stand beside those of the namespaces. */
const beside = ["calibration", "claims", "counters", "errors", "ladder", "structure"].filter((kind) => existsSync(site + kind));

/** Every page of the site. */
export const pages = [
  "index.html",
  ...readdirSync(`${site}experiments`).sort().map((namespace) => `experiments/${namespace}/index.html`),
  ...beside.flatMap((kind) => readdirSync(site + kind).filter((name) => name.endsWith(".html")).map((name) => `${kind}/${name}`)),
];

export const address = (path) => pathToFileURL(site + path).href;

/** A desktop and a phone, in pixels. */
export const viewports = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };

/** A browser of its own, with nothing of the user's and no talk of its own. */
export const launch = () =>
  chromium.launch({
    executablePath: process.env.MAGE_CHROMIUM ?? "/usr/bin/chromium",
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });

/** Opens a page; what it asks for, says and gets wrong is kept in `heard`. */
export async function open(browser, path, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const heard = { errors: [], requests: [] };
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) heard.errors.push(message.text());
  });
  page.on("pageerror", (error) => heard.errors.push(String(error)));
  page.on("requestfailed", (request) => heard.errors.push(`failed: ${request.url()}`));
  page.on("request", (request) => heard.requests.push(request.url()));
  await page.goto(address(path), { waitUntil: "load" });
  await page.evaluate(() => Promise.all([...document.images].map((image) => ((image.loading = "eager"), image.decode()))));
  return { page, context, heard };
}
