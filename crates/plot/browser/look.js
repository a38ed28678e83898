// Pictures of every page for the eye: npm run look, then target/look/.

import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { launch, open, pages, viewports } from "./browser.js";

const out = fileURLToPath(new URL("../../../target/look/", import.meta.url));
mkdirSync(out, { recursive: true });
const browser = await launch();
for (const path of pages) {
  for (const [device, viewport] of Object.entries(viewports)) {
    for (const colorScheme of ["light", "dark"]) {
      const { page, context } = await open(browser, path, { viewport, colorScheme });
      const name = path.replace("experiments/", "").replace(/\/?index\.html/, "").replace(/\.html$/, "").replace("/", "-") || "index";
      await page.screenshot({ path: `${out}${name}.${device}.${colorScheme}.png`, fullPage: true });
      await context.close();
    }
  }
}
await browser.close();
