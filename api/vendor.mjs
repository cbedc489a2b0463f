// Copies what the browser needs out of node_modules into the package, so that pages load nothing from elsewhere.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";

const from = (path) => new URL(`node_modules/${path}`, import.meta.url);
const to = (name) => new URL(`web/quiclens_web/pages/vendor/${name}`, import.meta.url);

mkdirSync(to(""), { recursive: true });
for (const [path, name] of [
  ["uplot/dist/uPlot.esm.js", "uPlot.esm.js"],
  ["uplot/dist/uPlot.d.ts", "uPlot.esm.d.ts"],
  ["uplot/dist/uPlot.min.css", "uPlot.min.css"],
  ["uplot/LICENSE", "uPlot.LICENSE"],
  ["h3-js/dist/browser/h3-js.es.js", "h3-js.js"],
  ["h3-js/LICENSE", "h3-js.LICENSE"],
]) {
  copyFileSync(from(path), to(name));
}
// Its types are those of an ambient module; beside the file they are a module's own.
const types = readFileSync(from("h3-js/dist/types.d.ts"), "utf8");
writeFileSync(to("h3-js.d.ts"), types.replace('declare module "h3-js" {', "").replace(/}\s*$/, ""));
