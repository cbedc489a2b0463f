// @ts-check
// Hexagons on a map: two carriers side by side, one scale, a slider through the window's time, days and hours of a time zone.

import { cellToBoundary } from "../vendor/h3-js.js";
import { LAND } from "../vendor/land.js";
import { ask, newest } from "./api.js";
import { el, fill, find, isAsked, isTold, note, svg } from "./dom.js";
import { duration, isOneDay, whole } from "./format.js";

const WIDTH = 620;
const HEIGHT = 360;
const SMALLEST = 12; // a hexagon narrower than so many pixels is drawn as wide: a map of continents would not show it
const LAND_FROM = 2; // degrees from south to north: the outlines of land are too coarse for less
const RAMP = ["#2b83ba", "#78b9a8", "#cfe3a5", "#fdd27e", "#f0884d", "#d7191c"];

/** @typedef {"p95" | "p50"} Figure what colours say */
/** @typedef {{cell: string, requests: number, larger: number, p95: number | null, p50: number | null, cause: string | null, edge: [number, number][]}} Hexagon */

/** Places that an answer fills. */
export const MAPS = ["#map-a", "#map-b", "#map-scale", "#map-a-name", "#map-b-name", "#map-when"];
const newestMap = newest();

/** Draws what was asked for last: controls are there once, questions come and go. @type {(signal: AbortSignal) => Promise<void>} */
let redraw = async () => {};
const drawn = () => newestMap(async (signal) => {
  await redraw(signal);
  isTold(...MAPS);
}, (message) => {
  fill(find("#map-scale"), el("p", { class: "error" }, message));
  isTold(...MAPS);
});
const again = () => {
  isAsked(...MAPS);
  drawn();
};

/** The window and the filter whose carriers can be chosen, as the address has them. */
let offered = "";

/**
 * @param {{since: string, until: string, where: string[]}} window
 * @param {{since: string, until: string, where: string[]}} asked the same as the address has it: an age stays one
 * @param {AbortSignal} signal
 */
export async function showMap(window, asked, signal) {
  const [left, right] = ["#map-left", "#map-right"].map((id) => /** @type {HTMLSelectElement} */ (find(id)));
  const slider = /** @type {HTMLInputElement} */ (find("#map-time"));
  const [figure, day, hour, zone] = ["#map-figure", "#map-day", "#map-hour", "#map-zone"].map((id) => /** @type {HTMLSelectElement} */ (find(id)));
  const isFirst = !left.options.length;
  const filter = JSON.stringify([asked.since, asked.until, asked.where]);
  if (filter !== offered) { // not each time that a live page asks again
    const tails = await ask("/api/v1/reports/tail", { by: "carrier", ...window }, signal);
    const names = tails.rows.map((/** @type {any[]} */ row) => row[0]).filter(Boolean);
    for (const [place, select] of [left, right].entries()) {
      // Whoever is chosen stays, where the filter leaves them any requests.
      const kept = isFirst ? undefined : ["", ...names].find((name) => name === select.value);
      fill(select, el("option", { value: "" }, "all carriers"), ...names.map((/** @type {string} */ name) => el("option", {}, name)));
      select.value = kept ?? names[place] ?? "";
    }
    offered = filter;
  }
  if (isFirst) {
    for (const select of [left, right]) select.addEventListener("change", again);
    const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
    if (here && here !== "UTC") zone.append(el("option", { value: here }, here));
    for (const each of [slider, figure, day, hour, zone]) each.addEventListener("change", again);
  }
  redraw = async (signal) => {
    const chosen = [left.value, right.value];
    const hours = stretch(window, Number(slider.value), Number(slider.max));
    const clock = (/** @type {string} */ text) => text.slice(isOneDay(window.since, window.until) ? 11 : 0, 16).replace("T", " ");
    find("#map-when").textContent = Number(slider.value) ? `${clock(hours.since)} – ${clock(hours.until)} UTC` : "all of it";
    const told = /** @type {Figure} */ (figure.value);
    const local = { weekday: day.value, hour: hour.value, time_zone: zone.value };
    const found = await Promise.all(chosen.map((carrier) => {
      const where = [...window.where, ...(carrier ? [`carrier=${carrier}`] : [])];
      return ask("/api/v1/cells", { ...hours, ...local, where }, signal);
    }));
    const both = found.map(hexagons);
    const scale = scaleOf(both.flat(), told);
    const frame = frameOf(both.flat());
    fill(find("#map-scale"), ramp(both.flat(), told));
    for (const [place, id] of ["a", "b"].entries()) {
      fill(find(`#map-${id}`), picture(both[place], scale, frame, told));
      find(`#map-${id}-name`).textContent = `${chosen[place] || "all carriers"}: ${whole(both[place].reduce((sum, each) => sum + each.requests, 0))} requests${found[place].not_a_cell ? `, and ${whole(found[place].not_a_cell)} whose place is no H3 cell` : ""}`;
    }
  };
  signal.addEventListener("abort", () => newestMap(async () => {}, () => {}), { once: true });
  await drawn();
}

/** @param {{since: string, until: string}} window @param {number} at @param {number} most */
function stretch(window, at, most) {
  if (!at) return { since: window.since, until: window.until };
  const [from, to] = [Date.parse(window.since), Date.parse(window.until)];
  const [first, last] = [at - 1, at].map((part) => new Date(from + ((to - from) * part) / most).toISOString());
  return { since: first, until: last };
}

/** @param {import("./documents.js").CellsDocument} found @returns {Hexagon[]} */
function hexagons(found) {
  return found.h3_cell.flatMap((/** @type {string} */ cell, /** @type {number} */ at) => {
    try {
      return [{ cell, requests: found.requests[at], larger: found.in_larger[at], p50: found.p50[at], p95: found.p95[at], cause: found.top_cause[at], edge: cellToBoundary(cell) }];
    } catch {
      return []; // what a log calls a cell need not be one
    }
  });
}

/** The durations that are known. @param {Hexagon[]} all @param {Figure} told */
function known(all, told) {
  return all.map((each) => each[told]).filter((us) => us !== null);
}

/** @param {Hexagon[]} all @param {Figure} told @returns {(us: number) => string} */
function scaleOf(all, told) {
  const values = known(all, told).map(Math.log).sort((a, b) => a - b);
  const [least, most] = [values[0] ?? 0, values[values.length - 1] ?? 1];
  return (us) => RAMP[Math.min(RAMP.length - 1, Math.floor(((Math.log(us) - least) / Math.max(1e-9, most - least)) * RAMP.length))];
}

/** Bounds in degrees, with the longitude shrunk as at their middle latitude. @param {Hexagon[]} all */
function frameOf(all) {
  const points = all.flatMap((each) => each.edge);
  const [south, north] = [Math.min(...points.map(([lat]) => lat)), Math.max(...points.map(([lat]) => lat))];
  const [west, east] = [Math.min(...points.map(([, lng]) => lng)), Math.max(...points.map(([, lng]) => lng))];
  const squeeze = Math.cos((((south + north) / 2) * Math.PI) / 180);
  const zoom = Math.min((WIDTH - 20) / Math.max(1e-6, (east - west) * squeeze), (HEIGHT - 20) / Math.max(1e-6, north - south));
  const [left, top] = [(WIDTH - (east - west) * squeeze * zoom) / 2, (HEIGHT - (north - south) * zoom) / 2];
  return {
    x: (/** @type {number} */ lng) => left + (lng - west) * squeeze * zoom,
    y: (/** @type {number} */ lat) => top + (north - lat) * zoom,
    lng: (/** @type {number} */ x) => west + (x - left) / squeeze / zoom,
    lat: (/** @type {number} */ y) => north - (y - top) / zoom,
  };
}

/** Parallels and meridians, about five of each, so that one knows where one is without a map of the world.
 * @param {ReturnType<typeof frameOf>} frame */
function graticule(frame) {
  const [south, north, west, east] = [frame.lat(HEIGHT), frame.lat(0), frame.lng(0), frame.lng(WIDTH)];
  const step = [0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30].find((each) => (north - south) / each <= 6 && (east - west) / each <= 8) ?? 45;
  /** @param {number} from @param {number} to */
  const every = (from, to) => Array.from({ length: Math.floor(to / step) - Math.ceil(from / step) + 1 }, (_, at) => (Math.ceil(from / step) + at) * step);
  /** @param {number} degrees @param {string} ends */
  const told = (degrees, ends) => `${Math.abs(Number(degrees.toFixed(2)))}°${degrees ? ends[degrees > 0 ? 0 : 1] : ""}`;
  return svg("g", { class: "graticule" },
    ...every(south, north).flatMap((lat) => [
      svg("line", { x1: 0, x2: WIDTH, y1: frame.y(lat), y2: frame.y(lat) }),
      svg("text", { x: 4, y: frame.y(lat) - 3 }, told(lat, "NS"))]),
    ...every(west, east).flatMap((lng) => [
      svg("line", { y1: 0, y2: HEIGHT, x1: frame.x(lng), x2: frame.x(lng) }),
      svg("text", { x: frame.x(lng) + 3, y: HEIGHT - 4 }, told(lng, "EW"))]));
}

/** @type {Record<Figure, string>} */
const NAMED = { p95: "p95", p50: "median" };

/** What a colour means. @param {Hexagon[]} all @param {Figure} told */
function ramp(all, told) {
  const values = known(all, told);
  if (!values.length) return "";
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return el("div", { class: "legend" }, `${NAMED[told]} ${duration(least)} `,
    svg("svg", { viewBox: `0 0 ${RAMP.length} 1`, width: 120, height: 10, preserveAspectRatio: "none" }, ...RAMP.map((colour, at) => svg("rect", { x: at, width: 1, height: 1, fill: colour }))),
    ` ${duration(most)}, log scale; an empty hexagon has too few requests, a small one is drawn larger than it is${all.some((each) => each.larger) ? "; where hexagons have fewer than 20, a larger one stands for them" : ""}`);
}

/** Its corners in pixels, as text. @param {Hexagon} hexagon @param {ReturnType<typeof frameOf>} frame */
function corners(hexagon, frame) {
  const [xs, ys] = [hexagon.edge.map(([, lng]) => frame.x(lng)), hexagon.edge.map(([lat]) => frame.y(lat))];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const grown = Math.max(1, SMALLEST / Math.max(1e-6, right - left));
  /** @param {number} at @param {number} middle */
  const from = (at, middle) => (middle + (at - middle) * grown).toFixed(1);
  return xs.map((x, at) => `${from(x, (left + right) / 2)},${from(ys[at], (top + bottom) / 2)}`).join(" ");
}

/** Land as paths, or nothing where it would be too coarse. @param {ReturnType<typeof frameOf>} frame */
function land(frame) {
  if (frame.lat(0) - frame.lat(HEIGHT) < LAND_FROM) return svg("g", {});
  const paths = LAND.map((steps) => {
    let [lng, lat] = [0, 0];
    const points = [];
    for (let at = 0; at < steps.length; at += 2) {
      [lng, lat] = [lng + steps[at], lat + steps[at + 1]];
      points.push(`${frame.x(lng / 100).toFixed(1)} ${frame.y(lat / 100).toFixed(1)}`);
    }
    return `M${points.join("L")}Z`;
  });
  return svg("path", { class: "land", d: paths.join("") });
}

/** @param {Hexagon[]} all @param {(us: number) => string} scale @param {ReturnType<typeof frameOf>} frame @param {Figure} told */
function picture(all, scale, frame, told) {
  if (!all.length) return el("p", { class: "teach" }, "No request of this group has a place.");
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${NAMED[told]} of ${all.length} hexagons` }, land(frame), graticule(frame), ...byExtent(all).map((each) => svg("polygon", {
    points: corners(each, frame),
    fill: colourOf(each[told], scale),
    stroke: "currentColor",
    "stroke-opacity": 0.35,
    onpointermove: (/** @type {PointerEvent} */ event) => note(`${each.cell}\n${whole(each.requests)} requests${each.larger ? `, ${whole(each.larger)} of smaller hexagons with too few` : ""}\nmedian ${duration(each.p50)}, p95 ${each.p95 === null ? "too few" : duration(each.p95)}${each.cause ? `\nmost time: ${each.cause.replaceAll("_", " ")}` : ""}`, event),
    onpointerleave: () => note(""),
  })));
}

/** Large hexagons first, so that the small ones within them are seen. @param {Hexagon[]} all */
function byExtent(all) {
  const height = (/** @type {Hexagon} */ each) => Math.max(...each.edge.map(([lat]) => lat)) - Math.min(...each.edge.map(([lat]) => lat));
  return [...all].sort((a, b) => height(b) - height(a));
}

/** @param {number | null} us @param {(us: number) => string} scale */
function colourOf(us, scale) {
  return us === null ? "none" : scale(us);
}
