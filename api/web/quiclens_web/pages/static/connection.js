// @ts-check
// One connection: a strip over all of it, and views of the stretch that is chosen there. One cursor for all of them.

import { ask, newest } from "./api.js";
import { draw } from "./chart.js";
import { colour, el, fill, find } from "./dom.js";
import { duration, ms, rate } from "./format.js";
import { shade } from "./shade.js";
import { change, requestPage, state } from "./state.js";
import { toldIn } from "./ticks.js";
import { congestion } from "./view_congestion.js";
import { eventLog } from "./view_log.js";
import { packets } from "./view_packets.js";
import { sequence } from "./view_sequence.js";
import { statistics } from "./view_statistics.js";
import { streams } from "./view_streams.js";

/** @typedef {import("./shade.js").Request} Request */

/**
 * @typedef {object} Shown what every view is given
 * @property {string} path of the API
 * @property {{vantage: string, trace_id: string}} trace
 * @property {[number, number]} range us since the trace began
 * @property {number} duration us
 * @property {string | null} stream the one that is looked at
 * @property {Request | null} request of that stream
 * @property {number} zero where times are told from, us since the trace began
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
const panel = /** @type {HTMLElement} */ (find("#view"));
/** The same buttons at every view, so that the one with the focus keeps it. */
const tabs = VIEWS.map(([name, title], at) => el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "view", title: `key ${at + 1}`, onclick: () => go(name) }, title));
/** @type {import("./answers.js").Series | null} */
let whole_ = null;

/** The stretch that the address asks for, as far as there is one. @returns {{ range: [number, number], isBeyond: boolean }} */
function asked() {
  const now = state();
  const [from, to] = [Number(now.get("from_us") ?? 0), Number(now.get("to_us") ?? length)];
  const [least, most] = [Math.max(0, from), Math.min(length, to)];
  return most > least ? { range: [least, most], isBeyond: false } : { range: [0, length], isBeyond: from >= length || to <= 0 };
}

/** The request that the page was opened with, while its stream is looked at. @returns {Request | null} */
function request() {
  const { stream, start, end, connection } = root.dataset;
  return stream && state().get("stream") === stream ? { name: `${connection}/${stream}`, start_us: Number(start), end_us: Number(end) } : null;
}

/** @param {number} from @param {number} to */
function zoom(from, to) {
  const [least, most] = [Math.max(0, Math.floor(from)), Math.min(length, Math.ceil(to))];
  if (most - least < 10) return;
  change({ from_us: least, to_us: most });
  show();
}

/** Moves the stretch, no further than to an end. @param {number} by us */
function move(by) {
  const [from, to] = asked().range;
  const step = Math.min(length - to, Math.max(-from, by));
  if (step) zoom(from + step, to + step);
}

/** @param {string} name of a view @param {Record<string, string | number | null>} [changes] */
function go(name, changes = {}) {
  change({ view: name, ...changes });
  show();
}

function show() {
  const now = state();
  const wanted = now.get("view") ?? location.hash.slice(1);
  const [name, , view] = VIEWS.find(([each]) => each === wanted) ?? VIEWS[0];
  const { range, isBeyond } = asked();
  const [from, to] = range;
  const marked = request();
  const zero = zeroOf(marked);
  for (const tab of tabs) {
    const isShown = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(isShown));
    tab.tabIndex = isShown ? 0 : -1;
    if (isShown && tabs.includes(/** @type {HTMLElement} */ (document.activeElement))) tab.focus();
  }
  panel.setAttribute("aria-labelledby", `tab-${name}`);
  const all = from === 0 && to >= length;
  find("#view-range").textContent = `${isBeyond ? "what the address asks for lies beyond its end: " : ""}${all ? `all ${duration(length)}` : `${toldIn(from - zero, to - from)} to ${toldIn(to - zero, to - from)} of ${duration(length)}`}`;
  clock(marked, zero);
  strip(marked, zero);
  newestView(async (signal) => {
    const place = el("div", {}, el("p", { class: "note" }, "asking …"));
    fill(panel, place);
    await view(place, { path, trace, range, duration: length, stream: now.get("stream"), request: marked, zero, signal, zoom, go });
  }, (message) => fill(panel, el("p", { class: "error" }, message)));
}

/** Where times are told from: the trace's beginning, or the request's where the address says so. @param {Request | null} marked */
function zeroOf(marked) {
  return marked && state().get("zero") === "request" ? marked.start_us : 0;
}

/** Says which clock the times are of, and leads to the other one. @param {Request | null} marked @param {number} zero */
function clock(marked, zero) {
  const place = find("#clock");
  if (!marked) return fill(place, "Times are since the trace began.");
  const leads = requestPage(marked.name);
  const isRequests = zero !== 0;
  const other = el("button", { type: "button", "aria-pressed": String(isRequests), onclick: () => { change({ zero: isRequests ? null : "request" }); show(); } }, "since the request began");
  fill(place, "Shaded: request ", el("a", { href: leads }, marked.name), `, from ${ms(marked.start_us, 3)} to ${ms(marked.end_us, 3)} ms of the trace. Times are since the ${isRequests ? "request" : "trace"} began; ${isRequests ? `since the trace began they are ${ms(marked.start_us, 3)} ms more` : `since the request began they are ${ms(marked.start_us, 3)} ms less`}. `, other);
}

/** @param {Request | null} marked @param {number} zero */
async function strip(marked, zero) {
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
  const [from, to] = asked().range;
  draw(place, {
    x: sums.map((_, at) => at * step),
    lines: [{ label: "sent", colour: colour("sent"), values: sums.map((bytes) => ((bytes ?? 0) * 8e6) / step), drawn: "step" }],
    y: { told: rate },
    height: 110,
    name: "overview",
    toldX: (us) => duration(us - zero),
    zero,
    zoomed: zoom,
    under: (plot) => shade(plot, marked),
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
  const address = state();
  for (const name of ["from_us", "to_us"]) address.delete(name);
  address.set("vantage", vantage);
  address.set("trace_id", trace_id);
  location.search = address.toString(); // another page, to which and from which one goes with Back
});
addEventListener("popstate", show);
addEventListener("theme", show);
/** The tabs are one stop of the Tab key; arrows go from one to the next, Enter and Space open one. @param {KeyboardEvent} event */
function walkTabs(event) {
  const at = tabs.indexOf(/** @type {HTMLElement} */ (event.target));
  const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (at < 0 || to === undefined) return;
  event.preventDefault();
  tabs[(to + tabs.length) % tabs.length].focus();
}

fill(find("#tabs"), ...tabs);
/** @type {HTMLElement} */ (find("#tabs")).addEventListener("keydown", walkTabs);
addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input, select, textarea") || target.closest("dialog")) return;
  const [from, to] = asked().range;
  const span = to - from;
  // In the tabs, and in what can be scrolled, arrows are for that.
  const isTaken = target.closest("[role=tablist], .log, .lanes") !== null;
  if (event.key === "0") zoom(0, length);
  else if (event.key === "+") zoom(from + span / 4, to - span / 4);
  else if (event.key === "-") zoom(from - span / 2, to + span / 2);
  else if (event.key === "ArrowLeft" && !isTaken) move(-span / 4);
  else if (event.key === "ArrowRight" && !isTaken) move(span / 4);
  else if (/^[1-9]$/.test(event.key) && VIEWS[Number(event.key) - 1]) go(VIEWS[Number(event.key) - 1][0]);
});
show();
