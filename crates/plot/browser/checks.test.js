// What the checks of a page must see: each of these pages has one thing wrong.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, viewports } from "./browser.js";
import { faults } from "./layout.js";

let browser, page;
before(async () => {
  browser = await launch();
  page = await browser.newPage({ viewport: viewports.phone });
});
after(() => browser?.close());

for (const [what, body, expected] of [
  ["nothing", "<p>A line</p><p>Another</p>", null],
  ["a table too wide", "<table><tr><td style='white-space:nowrap'>" + "wide ".repeat(100) + "</td></tr></table>", /the page is \d+ wide/],
  ["text outside the window", "<p style='position:fixed;left:-40px'>A line</p>", /outside: <p> A line/],
  ["text on text", "<p>A line</p><p style='margin-top:-2em'>Another</p>", /Another lies on|A line lies on/],
  ["a picture that is not there", "<img src='data:image/png;base64,AAAA' alt='x' width='9' height='9'>", /not drawn/],
  ["wide, but it scrolls", "<div class='scroll' style='overflow-x:auto'><p style='width:900px'>A line that is wide</p></div>", null],
]) {
  test(`the checks see ${what}`, async () => {
    await page.setContent(`<!doctype html><body style="margin:8px;font:16px sans-serif">${body}</body>`);
    const found = await page.evaluate(faults);
    if (expected) assert.match(found.join("\n"), expected);
    else assert.deepEqual(found, []);
  });
}
