// @ts-check
// Statistics: what is known of the connection, how often each thing stands in its log, what the log cannot show.

import { ask } from "./api.js";
import { CAUSES } from "./causes.js";
import { el, fill } from "./dom.js";
import { duration, percent, size, whole } from "./format.js";

/** @param {HTMLElement} place @param {import("./connection.js").Shown} shown */
export async function statistics(place, shown) {
  const [page, counted] = await Promise.all([ask(shown.path, shown.trace, shown.signal), ask(`${shown.path}/counts`, shown.trace, shown.signal)]);
  const { connection, ids, traces } = page;
  const of = (/** @type {string} */ kind) => counted.counts.filter((/** @type {any} */ each) => each.kind === kind);
  fill(place,
    connection.cannot_show.length ? el("p", { class: "note" }, `This log cannot show: ${connection.cannot_show.map((/** @type {string} */ cause) => CAUSES.get(cause)?.name ?? cause).join(", ")}. `, el("code", {}, "quiclens check LOG"), " says which fields to switch on.") : "",
    el("div", { class: "packed" },
      card("Connection", facts(connection)),
      card("Events", table(of("event"), false)),
      card("Frames", table(of("frame"), true)),
      card("Packets", table(of("packet"), true)),
      card("Connection IDs", el("table", {}, el("tbody", {}, ...ids.slice(0, 100).map((/** @type {any} */ each) => el("tr", {}, el("td", { class: "id" }, each.alias), el("td", {}, each.role), el("td", { class: "n" }, duration(each.first_us)), el("td", { class: "n" }, duration(each.last_us)))))), ids.length > 100 ? `the first 100 of ${whole(ids.length)}` : ""),
      card("Traces of it", el("table", {}, el("tbody", {}, ...traces.map((/** @type {any} */ each) => el("tr", {}, el("td", {}, each.vantage), el("td", { class: "id" }, each.trace_id), el("td", { class: "n" }, whole(each.events_seen)), el("td", {}, each.complete ? "" : "cut")))))),
      card("The log's own header", el("pre", { class: "event", tabindex: "0" }, JSON.stringify(connection.header, null, 1)))));
}

/** @param {string} title @param {Node} inside @param {string} [cut] what is not shown of it */
function card(title, inside, cut) {
  return el("section", { class: "card" }, el("h2", {}, title), inside, ...(cut ? [el("p", { class: "note" }, cut)] : []));
}

/** Every column that says something, times and sizes as such. @param {Record<string, any>} connection */
function facts(connection) {
  const rows = Object.entries(connection).filter(([name, value]) => !["header", "cannot_show", "open_episodes"].includes(name) && value !== null && value !== "" && value !== 0 && value !== false && !(typeof value === "object" && !Object.keys(value).length));
  return el("table", { class: "facts" }, el("tbody", {}, ...rows.map(([name, value]) => el("tr", {}, el("th", {}, name.replace(/_(us|ns)$/, "").replaceAll("_", " ")), el("td", {}, told(name, value))))));
}

// Numbers that count nothing: their digits stand in no groups.
const NAMES = ["asn", "analysis_version"];

/** @param {string} name @param {any} value */
function told(name, value) {
  if (NAMES.includes(name)) return String(value);
  if (name === "time_base_ns") return `${(value / 1e6).toFixed(3)} ms`;
  if (name.endsWith("_us")) return duration(value);
  if (name.includes("bytes") || name.endsWith("window")) return size(value);
  if (value !== null && typeof value === "object") return Object.entries(value).map(([key, each]) => (Array.isArray(value) ? each : `${key.replaceAll("_", " ")} ${each}`)).join(", ");
  return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 3 }) : String(value);
}

/** @param {any[]} rows @param {boolean} hasBytes */
function table(rows, hasBytes) {
  const sum = rows.reduce((all, each) => all + each.count, 0);
  return el("table", {}, el("tbody", {}, ...rows.map((each) => el("tr", {}, el("td", {}, `${each.name || "unknown"} ${each.way}`), el("td", { class: "n" }, whole(each.count)), el("td", { class: "n" }, percent(each.count / Math.max(1, sum))), hasBytes ? el("td", { class: "n" }, each.bytes ? size(each.bytes) : "") : null))));
}
