// @ts-check
// One connection: a strip over all of it, and views of the stretch that is chosen there. One cursor for all of them.

import { ask, newest } from "./api.js";
import { draw } from "./chart.js";
import { colour, el, fill, find } from "./dom.js";
import { duration, rate } from "./format.js";
import { change, state } from "./state.js";
import { congestion } from "./view_congestion.js";
import { eventLog } from "./view_log.js";
import { packets } from "./view_packets.js";
import { sequence } from "./view_sequence.js";
import { statistics } from "./view_statistics.js";
import { streams } from "./view_streams.js";

/**
 * @typedef {object} Shown what every view is given
 * @property {string} path of the API
 * @property {{vantage: string, trace_id: string}} trace
 * @property {[number, number]} range us since the trace began
 * @property {number} duration us
 * @property {string | null} stream the one that is looked at
 * @property {AbortSignal} signal
 * @property {(from: number, to: number) => void} zoom
 * @property {(view: string, changes?: Record<string, string | number | null>) => void} go to another view
 */

/** @type {[string, string, (place: HTMLElement, shown: Shown) => Promise<void>][]} */
const VIEWS = [
  ["congestion", "Congestion", congestion],
  ["streams", "Streams", streams],
  ["sequence", "Sequence", sequence],
  ["packets", "Packets", packets],
  ["log", "Event log", eventLog],
  ["statistics", "Statistics", statistics],
];

const root = /** @type {HTMLElement} */ (find("#connection"));
const trace = { vantage: root.dataset.vantage ?? "", trace_id: root.dataset.trace ?? "" };
const path = `/api/v1/connections/${encodeURIComponent(root.dataset.connection ?? "")}`;
const length = Math.max(1, Number(root.dataset.duration));
const newestView = newest();
/** @type {import("./answers.js").Series | null} */
let whole_ = null;

/** @returns {[number, number]} */
function range() {
  const now = state();
  const [from, to] = [Number(now.get("from_us") ?? 0), Number(now.get("to_us") ?? length)];
  return Number.isFinite(from) && Number.isFinite(to) && to > from ? [from, to] : [0, length];
}

/** @param {number} from @param {number} to */
function zoom(from, to) {
  const [least, most] = [Math.max(0, Math.floor(from)), Math.min(length, Math.ceil(to))];
  if (most - least < 10) return;
  change({ from_us: least, to_us: most });
  show();
}

/** @param {string} view @param {Record<string, string | number | null>} [changes] */
function go(view, changes = {}) {
  change({ view, ...changes });
  show();
}

function show() {
  const now = state();
  const name = now.get("view") ?? (location.hash.slice(1) || "congestion");
  const [, , view] = VIEWS.find(([each]) => each === name) ?? VIEWS[0];
  const [from, to] = range();
  fill(find("#tabs"), ...VIEWS.map(([each, title], at) => el("button", { type: "button", role: "tab", title: `key ${at + 1}`, "aria-selected": String(each === name), onclick: () => go(each) }, title)));
  find("#view-range").textContent = from === 0 && to >= length ? `all ${duration(length)}` : `${duration(from)} to ${duration(to)} of ${duration(length)}`;
  strip();
  newestView(async (signal) => {
    const place = el("div", {}, el("p", { class: "note" }, "asking …"));
    fill(find("#view"), place);
    await view(place, { path, trace, range: [from, to], duration: length, stream: now.get("stream"), signal, zoom, go });
  }, (message) => fill(find("#view"), el("p", { class: "error" }, message)));
}

async function strip() {
  whole_ ??= await ask(`${path}/series`, { ...trace, buckets: 400 });
  const place = /** @type {HTMLElement} */ (find("#overview-strip"));
  place.className = "chart";
  const steps = 400;
  const sums = /** @type {(number | null)[]} */ (Array(steps).fill(0));
  const step = length / steps;
  const times = whole_.exact ? whole_.packets.time_us : whole_.packets.bucket_start_us;
  (times ?? []).forEach((/** @type {number} */ at, /** @type {number} */ place_) => {
    const bytes = whole_?.exact ? (whole_.packets.is_sent[place_] ? whole_.packets.bytes[place_] : 0) : whole_?.packets.bytes_sent[place_];
    const bucket = Math.min(steps - 1, Math.max(0, Math.floor(at / step)));
    sums[bucket] = (sums[bucket] ?? 0) + (bytes ?? 0);
  });
  const [from, to] = range();
  draw(place, {
    x: sums.map((_, at) => at * step),
    lines: [{ label: "sent", colour: colour("sent"), values: sums.map((bytes) => ((bytes ?? 0) * 8e6) / step), drawn: "step" }],
    y: { told: rate },
    height: 110,
    name: "overview",
    toldX: duration,
    zoomed: zoom,
    over: (plot) => {
      if (from === 0 && to >= length) return;
      const [left, right] = [plot.valToPos(from, "x", true), plot.valToPos(to, "x", true)];
      plot.ctx.fillStyle = `${colour("accent")}3a`;
      plot.ctx.fillRect(left, plot.bbox.top, right - left, plot.bbox.height);
    },
  });
  for (const each of place.querySelectorAll(".u-legend, .chart-tools")) each.remove();
}

find("#zoom-out").addEventListener("click", () => zoom(0, length));
find("#trace").addEventListener("change", (event) => {
  const [vantage, trace_id] = /** @type {HTMLSelectElement} */ (event.target).value.split("/");
  change({ vantage, trace_id, from_us: null, to_us: null });
  location.reload();
});
addEventListener("popstate", show);
addEventListener("theme", show);
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /** @type {HTMLElement} */ (event.target).matches("input, select, textarea")) return;
  const [from, to] = range();
  const span = to - from;
  if (event.key === "0") zoom(0, length);
  else if (event.key === "+") zoom(from + span / 4, to - span / 4);
  else if (event.key === "-") zoom(from - span / 2, to + span / 2);
  else if (event.key === "ArrowLeft") zoom(from - span / 4, from - span / 4 + span);
  else if (event.key === "ArrowRight") zoom(to + span / 4 - span, to + span / 4);
  else if (/^[1-9]$/.test(event.key) && VIEWS[Number(event.key) - 1]) go(VIEWS[Number(event.key) - 1][0]);
});
show();
