// @ts-check
// One page that draws any report: a table with units, its samples and its coverage.

import { ask, newest } from "./api.js";
import { save } from "./chart.js";
import { el, fill, find } from "./dom.js";
import { duration } from "./format.js";
import { change, state } from "./state.js";
import { covered } from "./window.js";

const newestReport = newest();
const NAMES = ["name", "since", "until", "by", "without", "where"];
/** @param {string} name */
const field = (name) => /** @type {HTMLInputElement} */ (/** @type {HTMLFormElement} */ (find("#window")).elements.namedItem(name));

function show() {
  const now = state();
  for (const name of NAMES) if (now.has(name)) field(name).value = now.get(name) ?? "";
  const asked = { since: field("since").value, until: field("until").value, by: field("by").value, without: field("name").value === "tail" ? field("without").value : "", where: field("where").value };
  newestReport(async (signal) => {
    fill(find("#report"), el("p", { class: "note" }, "asking …"));
    const report = await ask(`/api/reports/${encodeURIComponent(field("name").value)}`, asked, signal);
    fill(find("#report"), table(report));
  }, (message) => fill(find("#report"), el("p", { class: "error" }, message)));
}

/** @param {import("./api.js").Document} report */
function table(report) {
  const isTime = report.columns.map((/** @type {any} */ column) => column.unit === "us");
  const cell = (/** @type {any} */ value, /** @type {number} */ at, /** @type {any[]} */ row) => {
    const unit = report.columns.findIndex((/** @type {any} */ column) => column.name === "unit");
    const told = value === null ? "–" : isTime[at] || (unit >= 0 && row[unit] === "us" && ["value", "low", "high"].includes(report.columns[at].name)) ? duration(value)
      : typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 4 }) : typeof value === "object" ? JSON.stringify(value) : String(value);
    return el("td", { class: typeof value === "number" || value === null ? "n" : "" }, told);
  };
  const csv = () => save(new Blob([[report.columns.map((/** @type {any} */ column) => column.name), ...report.rows].map((row) => row.map(quoted).join(",")).join("\n")], { type: "text/csv" }), `${report.name}.csv`);
  const json = () => save(new Blob([JSON.stringify(report, null, 1)], { type: "application/json" }), `${report.name}.json`);
  return el("div", {},
    el("p", { class: "coverage" }, `${report.samples.toLocaleString("en")} samples. ${covered(report.coverage)}. `, el("button", { type: "button", onclick: csv }, "CSV"), " ", el("button", { type: "button", onclick: json }, "JSON")),
    report.rows.length ? el("div", { class: "wide" }, el("table", {},
      el("thead", {}, el("tr", {}, ...report.columns.map((/** @type {any} */ column) => el("th", { title: column.unit }, column.name.replaceAll("_", " "))))),
      el("tbody", {}, ...report.rows.map((/** @type {any[]} */ row) => el("tr", {}, ...row.map((value, at) => cell(value, at, row))))))) : el("p", { class: "teach" }, "Nothing to report of these requests."));
}

/** @param {unknown} value */
function quoted(value) {
  const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

find("#window").addEventListener("submit", (event) => {
  event.preventDefault();
  change(Object.fromEntries(NAMES.map((name) => [name, field(name).value])));
  show();
});
addEventListener("popstate", show);
show();
