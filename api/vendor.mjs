// Copies what the browser needs out of node_modules into the package, so that pages load nothing from elsewhere.

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { feature } from "topojson-client";

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

// Natural Earth's land at 1:110,000,000: the outlines as hundredths of a degree, each point as its difference from the one
// before (longitude, latitude, …). That is good for a map of countries and too coarse for one of a city.
const world = JSON.parse(readFileSync(from("world-atlas/land-110m.json"), "utf8"));
const rings = feature(world, world.objects.land).features.flatMap((each) => each.geometry.coordinates.flat());
const steps = rings.map((ring) => {
  let before = [0, 0];
  return ring.flatMap((point) => {
    const at = point.map((degrees) => Math.round(degrees * 100));
    const step = at.map((value, axis) => value - before[axis]);
    before = at;
    return step;
  });
});
writeFileSync(to("land.js"), `// Natural Earth (public domain), by world-atlas (ISC).\nexport const LAND = ${JSON.stringify(steps)};\n`);
writeFileSync(to("land.d.ts"), "export const LAND: number[][];\n");
