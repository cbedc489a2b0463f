// @ts-check
// One page that draws any report: a table with units, its samples and its coverage.

import { ask, newest } from "./api.js";
import { save } from "./chart.js";
import { el, fill, find } from "./dom.js";
import { duration } from "./format.js";
import { change, state } from "./state.js";
import { covered } from "./window.js";

const newestReport = newest();
const NAMES = ["name", "since", "until", "by", "between", "base", "without", "where"];
// What only one report knows: the others do not show it.
/** @type {Record<string, string>} */
const OF = { without: "tail", between: "compare", base: "compare" };
/** @param {string} name */
const field = (name) => /** @type {HTMLInputElement} */ (/** @type {HTMLFormElement} */ (find("#window")).elements.namedItem(name));

function show() {
  const now = state();
  for (const name of NAMES) if (now.has(name)) field(name).value = now.get(name) ?? "";
  choose();
  const name = field("name").value;
  const asked = Object.fromEntries(NAMES.slice(1).map((each) => [each, (OF[each] ?? name) === name ? field(each).value : ""]));
  newestReport(async (signal) => {
    fill(find("#report"), el("p", { class: "note" }, "asking …"));
    const at = `/api/reports/${encodeURIComponent(name)}`;
    const report = await ask(at, asked, signal);
    fill(find("#report"), table(report), ...(report.rows.length ? [drawn(`${at}/picture?${new URLSearchParams(Object.entries(asked).filter(([, value]) => value))}`, name)] : []));
  }, (message) => fill(find("#report"), el("p", { class: "error" }, message)));
}

function choose() {
  for (const [name, of] of Object.entries(OF)) /** @type {HTMLElement} */ (field(name).parentElement).hidden = field("name").value !== of;
}

/** The picture, which is a file of its own too. @param {string} src @param {string} name */
function drawn(src, name) {
  const image = el("img", { class: "report", src, alt: `${name}: values with their intervals`, onerror: () => image.parentElement?.remove() });
  return el("a", { href: src, download: `${name}.svg`, title: "save as SVG" }, image);
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
field("name").addEventListener("change", choose);
addEventListener("popstate", show);
show();
