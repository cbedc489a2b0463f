// @ts-check
// Slow requests: the heat map with its box, and the list.

import { ask, newest } from "./api.js";
import { CAUSES } from "./causes.js";
import { chooseValue, el, fill, find, isAsked, isTold } from "./dom.js";
import { findingsTable } from "./findings.js";
import { duration, isOneDay, moment, ms, short, times, whole } from "./format.js";
import { drawHeat } from "./heat.js";
import { change, requestPage, state } from "./state.js";
import { answered, chosen, covered, wire } from "./window.js";

const newestList = newest();
const newestBox = newest();
const DRAWN = ["#heat", "#heat-scale", "#rows", "#slowest-note"];

/** @param {string} id @returns {HTMLInputElement} */
const input = (id) => find(id);

/** @param {boolean} [isLive] what is shown stays until it is answered */
function show(isLive = false) {
  const asked = chosen();
  const window = { since: asked.since, until: asked.until, where: asked.where };
  const now = state();
  input("#min-ms").value = now.get("min_ms") ?? "";
  input("#each").checked = now.get("each") === "1" && !asked.by.includes(",");
  input("#each").disabled = asked.by.includes(",");
  chooseValue(find("#limit"), now.get("limit") ?? "20");
  input("#min-ms").disabled = box() !== null; // the box says it
  const sort = now.get("sort") === "usual" ? "usual" : "duration";
  input("#sort").value = sort;
  newestList(async (signal) => {
    if (!isLive) {
      fill(find("#coverage"), "asking …");
      isAsked(...DRAWN);
    }
    const [map, list] = await Promise.all([ask("/api/v1/heat", window, signal), ask("/api/v1/requests", { ...window, ...boxWindow(), where: [...asked.where, ...beneathBox()], min_ms: leastMs(), sort, by: input("#each").checked ? asked.by : "", limit: Math.min(1000, Number(input("#limit").value)) }, signal)]);
    answered(map);
    fill(find("#coverage"), covered(map.coverage));
    fill(find("#heat-scale"), ...(map.requests.length ? drawHeat(find("#heat"), map, box(), select) : []));
    if (!map.requests.length) fill(find("#heat"), el("p", { class: "teach" }, "No request with a duration began in this window. A longer one?"));
    rows(list, input("#each").checked ? asked.by : "", sort === "usual");
    isTold(...DRAWN);
  }, (message) => {
    fill(find("#coverage"), el("span", { class: "error" }, message));
    for (const id of ["#heat", "#rows"]) fill(find(id), el("p", { class: "note" }, "not answered"));
    for (const id of ["#heat-scale", "#slowest-note"]) fill(find(id));
    isTold(...DRAWN);
  });
  if (!isLive) showBox();
}

/** The box in the address: since,until,from_us,to_us. @returns {import("./heat.js").Box | null} */
function box() {
  const parts = (state().get("box") ?? "").split(",");
  if (parts.length !== 4) return null;
  const window = chosen();
  // Of a box that is larger than the window, what lies within it; of one that lies beyond, nothing.
  const [since, until] = [later(parts[0], window.since, 1), later(parts[1], window.until, -1)];
  return since < until ? { since, until, from_us: Number(parts[2]), to_us: Number(parts[3]) } : null;
}

/** The later of two times, or the earlier one; where the window has an age, that of the box. @param {string} ofBox @param {string} ofWindow @param {1 | -1} sign */
const later = (ofBox, ofWindow, sign) => (sign * (Date.parse(ofWindow) - Date.parse(ofBox)) > 0 ? ofWindow : ofBox);

/** @returns {Record<string, string>} */
function boxWindow() {
  const drawn = box();
  return drawn ? { since: drawn.since, until: drawn.until } : {};
}

/** The condition that nothing above the box is listed. */
function beneathBox() {
  const drawn = box();
  return drawn ? [`duration_us<=${Math.ceil(drawn.to_us) - 1}`] : [];
}

function leastMs() {
  const drawn = box();
  return drawn ? drawn.from_us / 1e3 : Number(input("#min-ms").value || 0);
}

/** @param {import("./heat.js").Box | null} drawn */
function select(drawn) {
  change({ box: drawn ? [drawn.since, drawn.until, drawn.from_us, drawn.to_us].join(",") : null });
  show();
}

function showBox() {
  const drawn = box();
  const place = find("#selection");
  if (!drawn) return fill(place);
  const asked = chosen();
  newestBox(async (signal) => {
    fill(place, el("p", { class: "note" }, "looking at every attribute and every pair …"));
    const found = await ask("/api/v1/different", { since: asked.since, until: asked.until, where: asked.where, min_ms: drawn.from_us / 1e3, max_ms: drawn.to_us / 1e3, chosen_since: drawn.since, chosen_until: drawn.until, limit: 10 }, signal);
    fill(place, el("h3", {}, `The ${whole(found.chosen)} requests in the box `, el("small", {}, `${moment(drawn.since)} to ${isOneDay(drawn.since, drawn.until) ? drawn.until.slice(11, 19) : moment(drawn.until)}, ${duration(drawn.from_us)} to ${duration(drawn.to_us)} `),
      el("button", { type: "button", onclick: () => select(null) }, "clear")), findingsTable(found, "those in the box"));
  }, (message) => fill(place, el("p", { class: "error" }, message)));
}

/** @param {import("./documents.js").SlowDocument} list @param {string} by the column that each of its values has some of, or none @param {boolean} isByUsual */
function rows(list, by, isByUsual) {
  const drawn = box();
  const shown = list.requests;
  find("#slowest-note").textContent = (drawn ? "in the box" : `of ${whole(list.coverage.requests)}`) + (isByUsual ? "; usual: the median of the same carrier, path and size, in the window and twice as long before it" : "");
  if (!shown.length) return fill(find("#rows"), el("p", { class: "teach" }, "No request matches. Fewer conditions, or a longer window?"));
  const head = ["duration, ms", ...(isByUsual ? ["× usual"] : []), "request", "began, UTC", "status", "carrier", "region", "server", "waited most for", "trace"];
  fill(find("#rows"), el("div", { class: "wide" }, el("table", {},
    el("thead", {}, el("tr", {}, ...head.map((name, at) => el("th", { class: at === 0 || name === "× usual" ? "n" : "" }, name)))),
    ...(by ? groups(shown, by, head.length, isByUsual) : [el("tbody", {}, ...shown.map((each) => row(each, isByUsual)))]))));
}

/** A body for each value of a column, headed by it. @param {any[]} shown @param {string} by @param {number} columns @param {boolean} isByUsual */
function groups(shown, by, columns, isByUsual) {
  const values = [...new Set(shown.map((each) => each[by] ?? "unknown"))];
  return values.map((value) => {
    const own = shown.filter((each) => (each[by] ?? "unknown") === value);
    return el("tbody", {}, el("tr", { class: "group" }, el("th", { colspan: columns, scope: "rowgroup" }, `${by.replaceAll("_", " ")} ${value} `, el("small", {}, `its ${whole(own.length)} slowest`))), ...own.map((each) => row(each, isByUsual)));
  });
}

/** @param {import("./documents.js").SlowRequest} each */
function beside(each) {
  if (each.duration_us === null) return ["–"];
  if (each.usual_us === null) return [el("small", {}, "too few like it")];
  return [times(each.duration_us, each.usual_us), " ", el("small", {}, `× ${duration(each.usual_us)}`)];
}

/** @param {any} each @param {boolean} isByUsual */
function row(each, isByUsual) {
  const local = each.started_at ? `${new Date(each.started_at).toLocaleString()} where you are` : null;
  const waited = each.top_cause ? [el("i", { class: `swatch cause-${each.top_cause}` }), ` ${CAUSES.get(each.top_cause)?.name ?? each.top_cause} `, el("small", {}, duration(each.top_cause_us))] : [el("small", {}, each.coverage === "none" ? "no trace" : "took no time")];
  return el("tr", { class: "leads", onclick: (/** @type {MouseEvent} */ event) => { if (!(/** @type {HTMLElement} */ (event.target).closest("a"))) location.href = page(each); } },
    el("td", { class: "n" }, el("a", { href: page(each) }, ms(each.duration_us))),
    ...(isByUsual ? [el("td", { class: "n" }, ...beside(each))] : []),
    el("td", {}, el("a", { href: page(each), tabindex: "-1" }, short(`${each.method ?? ""} ${each.path ?? each.request_id}`, 80))),
    el("td", { class: "n", title: local }, each.started_at ? each.started_at.slice(5, 23).replace("T", " ") : "undated"),
    el("td", {}, each.status),
    el("td", {}, each.carrier), el("td", {}, each.region), el("td", {}, each.server),
    el("td", {}, ...waited),
    el("td", {}, el("small", {}, each.grade === "repaired" || each.grade === "damaged" ? `${each.coverage}, ${each.grade}` : each.coverage)));
}

/** @param {any} each */
const page = (each) => requestPage(each.request_id);

if (document.querySelector("#window")) {
  wire(show);
  for (const [id, name] of [["#min-ms", "min_ms"], ["#limit", "limit"], ["#sort", "sort"]]) find(id).addEventListener("change", () => { change({ [name]: input(id).value }); show(); });
  find("#each").addEventListener("change", () => { change({ each: input("#each").checked ? "1" : null }); show(); });
}
