// @ts-check
// One page that draws any report: a table with units, its samples and its coverage.

import { ask, askText, newest, queryOf } from "./api.js";
import { save } from "./chart.js";
import { commaSeparated } from "./csv.js";
import { el, fill, find } from "./dom.js";
import { duration, percent, rate } from "./format.js";
import { change, state } from "./state.js";
import { conditionsOf, covered, lineOf } from "./window.js";

/** @typedef {import("./documents.js").NamedReportDocument} Report */

const newestReport = newest();
const NAMES = ["name", "since", "until", "by", "between", "base", "split", "without", "of", "time_zone", "where"];
/** @param {string} name */
const field = (name) => /** @type {HTMLInputElement} */ (/** @type {HTMLFormElement} */ (find("#window")).elements.namedItem(name));
/** Whether this report takes an option; those that only some take say which. @param {string} option @param {string} report */
const takes = (option, report) => {
  const of = field(option).parentElement?.dataset.of;
  return of === undefined || of.split(" ").includes(report);
};

function show() {
  const now = state();
  for (const name of NAMES) if (now.has(name)) field(name).value = name === "where" ? lineOf(now.getAll(name).flatMap(conditionsOf)) : now.get(name) ?? "";
  choose();
  const name = field("name").value;
  const fields = NAMES.slice(1).map((each) => [each, takes(each, name) ? field(each).value : ""]);
  const asked = { ...Object.fromEntries(fields), where: conditionsOf(field("where").value) };
  newestReport(async (signal) => {
    fill(find("#report"), el("p", { class: "note" }, "asking …"));
    const at = `/api/v1/reports/${encodeURIComponent(name)}`;
    const report = /** @type {Report} */ (await ask(/** @type {"/api/v1/reports/NAME"} */ (at), asked, signal));
    fill(find("#report"), table(report));
    // Where nothing can be drawn the table stands alone.
    if (report.rows.length) find("#report").append(...(await picture(`${at}/picture`, asked, name, signal).catch(() => [])));
  }, (message) => fill(find("#report"), el("p", { class: "error" }, message)));
}

function choose() {
  for (const each of NAMES) /** @type {HTMLElement} */ (field(each).parentElement).hidden = !takes(each, field("name").value);
}

/** The picture in the page's own colours, and a link to it as a file, black on white. @param {string} at @param {import("./api.js").Parameters} asked @param {string} name @param {AbortSignal} signal */
async function picture(at, asked, name, signal) {
  const made = new DOMParser().parseFromString(await askText(at, asked, signal), "image/svg+xml").documentElement;
  made.setAttribute("role", "img");
  made.setAttribute("aria-label", `${name}: values with their intervals; the table above has them as numbers`);
  const place = el("div", { class: "drawn wide" });
  place.append(document.adoptNode(made));
  return [place, el("p", { class: "note" }, el("a", { href: `${at}?${queryOf(asked)}`, download: `${name}.svg` }, "save the picture (SVG)"))];
}

/** How many groups have no row, where some have none. @param {Report} report */
function leftOut(report) {
  const [all, shown] = [report.groups ?? 0, report.groups_shown ?? 0];
  return all > shown ? `${shown.toLocaleString("en")} of ${all.toLocaleString("en")} groups are shown; totals are of all. ` : "";
}

/** What it was drawn from: requests, or what hosts counted. @param {Report["coverage"]} coverage */
function counted(coverage) {
  const told = (/** @type {number | undefined} */ count) => (count ?? 0).toLocaleString("en");
  return coverage.hosts === undefined ? covered(coverage)
    : `${told(coverage.hosts)} hosts received ${told(coverage.packets_received)} packets: ${told(coverage.packets_wrong_host)} on the wrong host; ` +
      `${told(coverage.packets_connection_unknown)} on the right one, of connections that are over, which no routing mends`;
}

/** @param {Report} report */
function table(report) {
  const csv = () => save(new Blob([commaSeparated([report.columns.map((/** @type {any} */ column) => column.name), ...report.rows])], { type: "text/csv" }), `${report.name}.csv`);
  const json = () => save(new Blob([JSON.stringify(report, null, 1)], { type: "application/json" }), `${report.name}.json`);
  return el("div", {},
    el("h2", {}, report.title),
    el("p", { class: "coverage" }, `${report.samples.toLocaleString("en")} samples. ${counted(report.coverage)}. ${leftOut(report)}`, el("button", { type: "button", onclick: csv }, "CSV"), " ", el("button", { type: "button", onclick: json }, "JSON")),
    ...report.warnings.map((warning) => el("p", { class: "warning" }, warning.text)),
    report.rows.length ? el("div", { class: "wide" }, isOfFigures(report) ? figures(report) : plain(report)) : el("p", { class: "teach" }, report.nothing),
    ...(report.rows.length ? report.notes.map((note) => el("p", { class: "note" }, note)) : []));
}

/** A row's note stands below it, as wide as the table. @param {Report} report */
function plain(report) {
  const all = columnsOf(report);
  const columns = all.filter(({ name }) => name !== "note");
  const note = all.find(({ name }) => name === "note");
  /** @param {any[]} row */
  const noted = (row) => (note && row[note.at] ? [el("tr", { class: "row-note" }, el("td", { colspan: String(columns.length) }, row[note.at]))] : []);
  return el("table", {},
    el("thead", {}, el("tr", {}, ...columns.map((column) => el("th", { title: column.unit, class: column.isNumber ? "n" : "" }, column.name.replaceAll("_", " "))))),
    el("tbody", {}, ...report.rows.flatMap((/** @type {any[]} */ row) => [el("tr", {}, ...columns.map((column) => cell(report, column, row))), ...noted(row)])));
}

const OF_A_FIGURE = ["figure", "value", "low", "high", "unit"];

/** A row is a figure with its value and the ends of its interval. @param {Report} report */
const isOfFigures = (report) => OF_A_FIGURE.every((name) => report.columns.some((column) => column.name === name));

/** A row for each figure; quantiles of one stand beside each other, what it was told by beside its name. @param {Report} report */
function figures(report) {
  const names = report.columns.map((column) => column.name);
  const groups = names.slice(0, names.indexOf("figure"));
  const counts = names.slice(groups.length).filter((name) => !OF_A_FIGURE.includes(name));
  /** @type {Map<string, { row: Record<string, any>, words: string, cells: Map<string, Record<string, any>> }>} */
  const lines = new Map();
  for (const cells of report.rows) {
    const row = /** @type {Record<string, any>} */ (Object.fromEntries(names.map((name, at) => [name, cells[at]])));
    if (!row.samples && row.unit !== "share") continue; // quantiles of nothing; the shares say that there is nothing
    const [, stem, quantile] = /** @type {RegExpMatchArray} */ (String(row.figure).match(/^(.*?)(?:_(p[0-9]+))?$/));
    const key = JSON.stringify([...groups.map((name) => row[name]), stem]);
    const words = (report.words[row.figure] ?? row.figure).replace(/, p[0-9]+$/, "");
    if (!lines.has(key)) lines.set(key, { row, words, cells: new Map() });
    lines.get(key)?.cells.set(quantile ?? "value", row);
  }
  const has = new Set([...lines.values()].flatMap((line) => [...line.cells.keys()]));
  const shown = ["value", ...[...has].filter((name) => name !== "value").sort()].filter((name) => has.has(name));
  /** @type {string[]} */
  let before = [];
  const rows = [...lines.values()].map((line) => {
    const group = groups.map((name) => String(line.row[name] ?? "unknown"));
    const isSame = group.join("\0") === before.join("\0");
    before = group;
    return el("tr", { class: isSame ? "" : "section" }, ...group.map((text) => el("td", {}, isSame ? "" : text)),
      el("td", { class: line.words.startsWith(" ") ? "part" : "" }, line.words.trim()),
      ...shown.map((name) => valued(line.cells.get(name))),
      ...counts.map((name) => el("td", { class: "n" }, line.row[name]?.toLocaleString("en") ?? "–")));
  });
  return el("table", { class: "figures" },
    el("thead", {}, el("tr", {}, ...[...groups, "figure"].map((name) => el("th", {}, name.replaceAll("_", " "))), ...[...shown, ...counts].map((name) => el("th", { class: "n" }, name.replaceAll("_", " "))))),
    el("tbody", {}, ...rows));
}

/** @param {Record<string, any> | undefined} row */
function valued(row) {
  if (!row) return el("td", {});
  if (row.value === null) return el("td", { class: "n" }, row.samples ? el("small", {}, "too few") : "–");
  const end = (/** @type {number | null} */ value) => value === null ? "?" : numberIn(row.unit, value);
  const between = row.low === null && row.high === null ? [] : [el("small", {}, ` ${end(row.low)} – ${end(row.high)}`)];
  return el("td", { class: "n" }, numberIn(row.unit, row.value), ...between);
}

const WORDS = new Set(["figure", "stratum"]); // names of ours, for which the report has words

/** @typedef {{name: string, unit: string, at: number, ends: [number, number] | null, isNumber: boolean}} Column */

/** Its columns, with those that are the ends of an interval put with what the interval is of.
 * @param {Report} report @returns {Column[]} */
function columnsOf(report) {
  /** @type {string[]} */
  const names = report.columns.map((/** @type {any} */ column) => column.name);
  const kind = (/** @type {string} */ name) => ["", "_sampling", "_prediction"].find((each) => names.includes(`${name}${each}_low`));
  const all = names.map((name, at) => {
    const of = kind(name);
    const ends = of === undefined ? null : /** @type {[number, number]} */ ([names.indexOf(`${name}${of}_low`), names.indexOf(`${name}${of}_high`)]);
    return { name, unit: report.columns[at].unit, at, ends, isNumber: report.rows.some((/** @type {any[]} */ row) => typeof row[at] === "number") };
  });
  const taken = new Set(all.flatMap((column) => column.ends ?? []));
  // The unit stands with each value.
  return all.filter((column) => !taken.has(column.at) && column.name !== "unit");
}

/** @param {string} unit @param {number} value */
function numberIn(unit, value) {
  if (unit === "us") return duration(value);
  if (unit === "share") return percent(value);
  if (unit === "rtt") return `${value.toLocaleString("en", { maximumFractionDigits: 2 })} RTT`;
  return unit === "bit/s" ? rate(value) : value.toLocaleString("en", { maximumFractionDigits: 4 });
}

/** @param {Report} report @param {Column} column @param {any[]} row */
function cell(report, column, row) {
  const ofRow = row[report.columns.findIndex((/** @type {any} */ each) => each.name === "unit")];
  const unit = column.unit || (["value", "base_value"].includes(column.name) ? ofRow : "");
  // A quantile, and the users of an arm, differ by a share; shares by points.
  const difference = column.name !== "difference" ? "" : ofRow === "share" ? "points" : "%";
  const told = (/** @type {any} */ value) => {
    if (value === null || value === undefined) return "–";
    if (typeof value === "number") return difference ? `${value < 0 ? "" : "+"}${(value * 100).toFixed(1)} ${difference}` : numberIn(unit, value);
    if (Array.isArray(value)) return value.map((each) => String(each).replaceAll("_", " ")).join(", ");
    if (typeof value === "object") return JSON.stringify(value);
    return WORDS.has(column.name) ? (report.words[value] ?? String(value)).trim() : String(value);
  };
  const value = row[column.at];
  const text = told(value);
  if (typeof value === "object" && value !== null) return el("td", { class: "list", title: text }, text);
  const [low, high] = column.ends ? column.ends.map((at) => row[at]) : [null, null];
  const between = low !== null && high !== null ? `${told(low)} – ${told(high)}` : low !== null ? `≥ ${told(low)}` : high !== null ? `≤ ${told(high)}` : "";
  const interval = between ? el("small", {}, ` ${between}`) : "";
  return el("td", { class: typeof value === "number" || value === null ? "n" : "" }, text, interval);
}

find("#window").addEventListener("submit", (event) => {
  event.preventDefault();
  change(Object.fromEntries(NAMES.map((name) => [name, name === "where" ? conditionsOf(field(name).value) : field(name).value])));
  show();
});
field("name").addEventListener("change", choose);
addEventListener("popstate", () => location.reload()); // fields that the address lacks are as the server makes them
show();
