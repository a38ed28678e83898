// Every committed page in headless Chromium, as a reader meets it: on a desktop and a phone, light and dark,
// with the keyboard, on paper, and without scripts.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { address, launch, open, pages, site, viewports } from "./browser.js";
import { faults } from "./layout.js";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** What axe-core finds, a line each. */
async function violations(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
    return violations.flatMap((v) => v.nodes.map((node) => `${v.id}: ${node.target.join(" ")}: ${node.failureSummary}`));
  });
}

const openDetails = (page) =>
  page.evaluate(() => document.querySelectorAll("details").forEach((details) => (details.open = true)));

for (const path of pages) {
  for (const [device, viewport] of Object.entries(viewports)) {
    for (const colorScheme of ["light", "dark"]) {
      test(`${path}, ${device}, ${colorScheme}`, async () => {
        const { page, context, heard } = await open(browser, path, { viewport, colorScheme });
        assert.deepEqual(await page.evaluate(faults), [], "as it opens");
        assert.deepEqual(await violations(page), [], "axe-core, as it opens");
        await openDetails(page);
        const tabs = await page.locator("[role=tab]").all();
        for (const tab of tabs.length ? tabs : [undefined]) {
          await tab?.click();
          assert.deepEqual(await page.evaluate(faults), [], "with everything open");
        }
        assert.deepEqual(await violations(page), [], "axe-core, with everything open");
        const outside = heard.requests.filter((url) => !url.startsWith(address("")) && !url.startsWith("data:"));
        assert.deepEqual(outside, [], "requests that leave the site");
        assert.deepEqual(heard.errors, [], "console");
        await context.close();
      });
    }
  }

  test(`${path}: links lead to files of the site`, async () => {
    const { page, context } = await open(browser, path, { viewport: viewports.desktop });
    const links = await page.evaluate(() => [...document.querySelectorAll("a[href]")].map((a) => a.href));
    assert.ok(links.length > 0);
    for (const link of links) {
      assert.ok(link.startsWith(address("")), link);
      const [file, place] = link.split("#");
      assert.doesNotThrow(() => readFileSync(new URL(file)), link);
      if (place && file === page.url().split("#")[0]) assert.equal(await page.locator(`[id="${place}"]`).count(), 1, link);
    }
    await context.close();
  });
}

for (const path of pages.filter((path) => path.startsWith("claims/"))) {
  test(`${path}: every outcome is in the window of a phone`, async () => {
    const { page, context } = await open(browser, path, { viewport: viewports.phone });
    const ends = await page.evaluate(() => [...document.querySelectorAll("tbody td:last-child")].map((cell) => cell.getBoundingClientRect().right));
    assert.ok(ends.length > 0 && Math.max(...ends) <= viewports.phone.width, `${Math.max(...ends)}`);
    await context.close();
  });
}

for (const path of pages.filter((path) => path.startsWith("experiments/"))) {
  describe(path, () => {
    const selected = (page) => page.locator("[role=tab][aria-selected=true]");
    const shown = async (page) => {
      const panels = page.locator("[role=tabpanel]");
      const states = await panels.evaluateAll((all) => all.map((panel) => panel.checkVisibility()));
      return states.flatMap((state, i) => (state ? [i] : []));
    };

    test("tabs work with the keyboard", async () => {
      const { page, context } = await open(browser, path, { viewport: viewports.desktop });
      const tabs = page.locator("[role=tab]");
      const last = (await tabs.count()) - 1;
      assert.ok(last >= 1, "several tabs");
      // Reached by Tab alone, and one stop for all of them.
      for (let i = 0; i < 40 && !(await page.evaluate(() => document.activeElement.role === "tab")); i++) {
        await page.keyboard.press("Tab");
      }
      for (const [key, expected] of [
        ["ArrowRight", 1],
        ["ArrowLeft", 0],
        ["ArrowLeft", last],
        ["ArrowRight", 0],
        ["End", last],
        ["Home", 0],
      ]) {
        await page.keyboard.press(key);
        assert.equal(await selected(page).count(), 1);
        assert.equal(await page.evaluate(() => document.activeElement.ariaSelected), "true", key);
        assert.equal(await selected(page).textContent(), await tabs.nth(expected).textContent(), key);
        assert.deepEqual(await shown(page), [expected], key);
      }
      const controls = await selected(page).getAttribute("aria-controls");
      await page.keyboard.press("Tab");
      assert.equal(await page.evaluate(() => document.activeElement.id), controls, "Tab goes on into the panel");
      await context.close();
    });

    test("details work with the keyboard", async () => {
      const { page, context } = await open(browser, path, { viewport: viewports.phone });
      const all = page.locator("details:visible");
      assert.ok((await all.count()) >= 2);
      for (const details of await all.all()) {
        await details.locator("summary").focus();
        for (const [key, state] of [["Enter", true], ["Space", false]]) {
          await page.keyboard.press(key);
          assert.equal(await details.evaluate((d) => d.open), state, key);
        }
      }
      await context.close();
    });

    test("a link to a figure opens its tab", async () => {
      const { page, context } = await open(browser, path, { viewport: viewports.desktop });
      const id = await page.locator("[role=tabpanel]").nth(1).getAttribute("id");
      await page.goto(`${address(path)}#${id}`);
      await page.reload();
      assert.deepEqual(await shown(page), [1]);
      await page.evaluate(() => (location.hash = document.querySelector("[role=tabpanel]").id));
      await page.waitForFunction(() => document.querySelector("[role=tabpanel]").checkVisibility());
      assert.deepEqual(await shown(page), [0]);
      await context.close();
    });

    test("everything is on paper and without scripts", async () => {
      const printed = await open(browser, path, { viewport: viewports.desktop });
      await printed.page.emulateMedia({ media: "print" });
      const panels = await printed.page.locator("[role=tabpanel]").count();
      assert.equal((await shown(printed.page)).length, panels);
      assert.equal(await printed.page.locator("[role=tablist]").isVisible(), false);
      assert.ok(await printed.page.locator("details table").first().isVisible(), "tables are printed");
      await printed.context.close();

      const context = await browser.newContext({ javaScriptEnabled: false });
      const page = await context.newPage();
      await page.goto(address(path));
      const figures = await page.locator("[data-tabs] > .figure").all();
      assert.equal(figures.length, panels);
      for (const figure of figures) assert.ok(await figure.locator("img").isVisible());
      assert.equal(await page.locator("[role=tab]").count(), 0);
      await context.close();
    });

    test("the metadata is JSON-LD of a data set whose files are there", async () => {
      const { page, context } = await open(browser, path, { viewport: viewports.desktop });
      const text = await page.locator("script[type='application/ld+json']").textContent();
      const dataset = JSON.parse(text);
      assert.equal(dataset["@type"], "Dataset");
      for (const field of ["name", "description", "license", "dateCreated", "variableMeasured"]) assert.ok(dataset[field], field);
      assert.ok(dataset.distribution.length > 3);
      for (const { contentUrl } of dataset.distribution) {
        assert.doesNotThrow(() => readFileSync(new URL(contentUrl, page.url())), contentUrl);
      }
      await context.close();
    });

    test("figures follow the reader's setting and say what they show", async () => {
      const figures = `assets/figures/${path.split("/")[1]}`;
      for (const file of readdirSync(site + figures).filter((name) => name.endsWith(".svg"))) {
        const papers = [];
        for (const colorScheme of ["light", "dark"]) {
          const context = await browser.newContext({ colorScheme });
          const page = await context.newPage();
          await page.goto(address(`${figures}/${file}`));
          papers.push(await page.evaluate(() => getComputedStyle(document.querySelector("svg > rect")).fill));
          assert.ok(await page.locator("svg > title").textContent());
          assert.ok(await page.locator("svg > desc").textContent());
          assert.equal(await page.locator("text").count(), 0, "text is outlines");
          await context.close();
        }
        assert.notEqual(papers[0], papers[1], file);
      }
    });
  });
}
