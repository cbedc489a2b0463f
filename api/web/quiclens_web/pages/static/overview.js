// @ts-check
// The overview: what has become worse, tails over time, causes over time, what is different, the map.

import { ask, askText, newest } from "./api.js";
import { CAUSES } from "./causes.js";
import { draw } from "./chart.js";
import { nameColours } from "./colours.js";
import { colour, el, fill, find, isAsked, isTold } from "./dom.js";
import { findingsTable } from "./findings.js";
import { duration, percent } from "./format.js";
import { MAPS, showMap } from "./map.js";
import { change, state } from "./state.js";
import { showTicket } from "./ticket.js";
import { triageList } from "./triage.js";
import { answered, chosen, covered, filterLink, wire } from "./window.js";

const newestOverview = newest();
const LARGEST = 5; // causes that are drawn each; the rest together
const SAID = ["#triage", "#shares", "#different"]; // where words say that it is being asked
const DRAWN = ["#tails", ...SAID, ...MAPS];

/** @type {import("./documents.js").OverTimeDocument | null} */
let last = null;
/** @type {import("./documents.js").DeploymentsDocument} */
let deployed = { deployments: [], all: 0 };
/** @type {import("./documents.js").TriageFinding[]} */
let worse = [];
/** @type {import("./documents.js").SpentDocument | null} */
let spent = null;

/** @param {boolean} [isLive] what is shown stays until it is answered */
function show(isLive = false) {
  const asked = chosen();
  const window = { since: asked.since, until: asked.until, where: asked.where };
  newestOverview(async (signal) => {
    if (!isLive) {
      fill(find("#coverage"), "asking …");
      for (const id of SAID) fill(find(id), el("p", { class: "note" }, "asking …"));
      isAsked("#tails", ...MAPS);
      worse = [];
      spent = null;
    }
    await Promise.all([findings(window, signal), charts(window, asked.by, signal)]);
  }, (message) => {
    last = null;
    fill(find("#coverage"), el("span", { class: "error" }, message));
    // Nothing of the question before stays below the words of this one.
    for (const place of document.querySelectorAll(DRAWN.join(", "))) fill(/** @type {HTMLElement} */ (place), el("p", { class: "note" }, "not answered"));
    isTold(...DRAWN);
  });
}

/** @typedef {{ since: string, until: string, where: string[] }} Asked */

/** The first sentence of the page is not asked for last. @param {Asked} window @param {AbortSignal} signal */
async function findings(window, signal) {
  const found = await ask("/api/v1/triage", window, signal);
  const ticket = () => {
    askText("/api/v1/triage.md", { ...window, since: found.since, until: found.until }).then((text) => showTicket(text, "triage.md"), (error) => fill(find("#triage"), el("p", { class: "error" }, error.message)));
  };
  fill(find("#triage"), triageList(found, ticket));
  worse = found.findings;
  tails();
  if (spent) shares(spent);
}

/** @param {Asked} window @param {string} by @param {AbortSignal} signal */
async function charts(window, by, signal) {
  const grouped = { ...window, by, groups: 8, drawn: state().get("drawn") === "slowest" ? "slowest" : "largest" };
  const [byGroup, releases] = await Promise.all([ask("/api/v1/over-time", grouped, signal), ask("/api/v1/deployments", window, signal)]);
  last = byGroup;
  answered(byGroup);
  deployed = releases;
  fill(find("#coverage"), covered(byGroup.coverage));
  tails();
  isTold("#tails");
  await rest(window, byGroup, signal);
  await intervals({ ...grouped, step_s: byGroup.step_s }, signal);
}

/** @param {Asked} window @param {Stretch} stretch that the window was when it was asked @param {AbortSignal} signal */
async function rest(window, stretch, signal) {
  spent = await ask("/api/v1/spent-over-time", window, signal);
  shares(spent);
  fill(find("#different"), findingsTable(await ask("/api/v1/different", { ...window, limit: 8 }, signal)));
  if (document.querySelector("#map-left")) await showMap({ ...window, since: stretch.since, until: stretch.until }, window, signal);
  isTold(...MAPS);
}

/** How sure the lines are takes longer than the lines, which stay where this is not answered. @param {import("./api.js").Parameters} asked @param {AbortSignal} signal */
async function intervals(asked, signal) {
  try {
    last = await ask("/api/v1/over-time", { ...asked, intervals: "true" }, signal);
    tails();
  } catch (error) {
    if (!signal.aborted) find("#tails").append(el("p", { class: "note" }, `without intervals: ${error instanceof Error ? error.message : error}`));
  }
}

/** @param {string} text */
const seconds = (text) => Date.parse(text) / 1e3;

/** @typedef {{ since: string, until: string, step_s: number }} Stretch */

/** Where every step of the window begins, so that gaps are gaps. @param {Stretch} document */
function steps(document) {
  const first = Math.floor(seconds(document.since) / document.step_s) * document.step_s;
  const count = Math.ceil((seconds(document.until) - first) / document.step_s);
  return Array.from({ length: count }, (_, number) => first + number * document.step_s);
}

/** @param {{ started_at: string[] }} series @param {any[]} values @param {number[]} begins */
function aligned(series, values, begins) {
  const known = new Map(series.started_at.map((/** @type {string} */ text, /** @type {number} */ at) => [seconds(text), values[at]]));
  return begins.map((at) => known.get(at) ?? null);
}

/** Steps of which the window has a part alone. @param {Stretch} document @param {number[]} begins */
function cutSteps(document, begins) {
  return begins.filter((at) => at < seconds(document.since) || at + document.step_s > seconds(document.until));
}

/** What charts over the steps of a window share: a value stands in the middle of what the window has of its step, and steps that the window cuts are shaded. @param {Stretch} document @param {number[]} begins */
function overSteps(document, begins) {
  const range = /** @type {[number, number]} */ ([seconds(document.since), seconds(document.until)]);
  const cut = cutSteps(document, begins);
  return {
    x: begins.map((at) => (Math.max(at, range[0]) + Math.min(at + document.step_s, range[1])) / 2),
    isClock: true,
    range,
    group: "time",
    zoomed,
    marks: marks(),
    /** @param {import("../vendor/uPlot.esm.js")} plot */
    under: (plot) => {
      plot.ctx.fillStyle = `${colour("line")}66`;
      for (const begin of cut) {
        const [left, right] = [Math.max(begin, range[0]), Math.min(begin + document.step_s, range[1])].map((at) => plot.valToPos(at, "x", true));
        plot.ctx.fillRect(left, plot.bbox.top, right - left, plot.bbox.height);
      }
    },
  };
}

/** Where a release began to run, and where something became worse. */
function marks() {
  const releases = deployed.deployments.map(({ at, cluster, server_release }) => ({ x: seconds(at), label: cluster ? `${server_release} ${cluster}` : server_release }));
  const began = worse.map(({ since, conditions }) => ({ x: seconds(since), label: `worse: ${conditions.map(({ value }) => value).join(", ") || "all requests"}` }));
  return [...releases, ...began].sort((a, b) => a.x - b.x);
}

/** Whether a series is of all groups that have none of their own: it has no value of what is grouped by. @param {import("./documents.js").OverTimeDocument} document @param {import("./documents.js").Series} one */
const isOfOthers = (document, one) => document.by.length > 0 && !Object.keys(one.group).length;

/** Of how many groups the largest are drawn, and what is shaded. @param {import("./documents.js").OverTimeDocument} document @param {number[]} begins @param {boolean} hasBands */
function drawnOf(document, begins, hasBands) {
  const others = document.series.find((one) => isOfOthers(document, one))?.groups ?? 0;
  const which = document.slow_us === null ? "with most requests" : `with the largest share of requests slower than ${duration(document.slow_us)} (the p95 of all)`;
  const groups = others ? `the ${document.groups - others} ${which} of ${document.groups.toLocaleString("en")} have a line each; ` : "";
  const isCut = cutSteps(document, begins).length > 0;
  const length = document.step_s % 60 ? `${document.step_s} s` : document.step_s % 3600 ? `${document.step_s / 60} min` : `${document.step_s / 3600} h`;
  const releases = deployed.all > deployed.deployments.length ? `; the first ${deployed.deployments.length} of ${deployed.all.toLocaleString("en")} releases are marked` : deployed.all ? "; dashed lines are the first requests of a release" : "";
  return `${groups}steps of ${length}${isCut ? ", of which the window cuts the shaded ones" : ""}${hasBands ? "; bands are 95 % intervals, where there are requests enough" : ""}${releases}`;
}

/** @param {number} from @param {number} to */
function zoomed(from, to) {
  change({ since: new Date(from * 1e3).toISOString().slice(0, 19) + "Z", until: new Date(to * 1e3).toISOString().slice(0, 19) + "Z" });
  dispatchEvent(new PopStateEvent("popstate"));
}

/** The highest quantile, p95 at most, that most steps have enough requests for. @param {import("./documents.js").OverTimeDocument} document */
function telling(document) {
  return ["p95", "p90", "p75"].find((name) => {
    const values = document.series.flatMap((/** @type {any} */ one) => one[name]);
    return values.filter((/** @type {any} */ value) => value !== null).length * 2 >= values.length;
  }) ?? "p50";
}

function tails() {
  if (!last) return;
  const choice = /** @type {HTMLSelectElement} */ (find("#quantile"));
  const wished = state().get("quantile");
  const quantile = wished ?? telling(last);
  choice.value = quantile;
  const begins = steps(last);
  const found = last;
  const others = (/** @type {import("./documents.js").Series} */ one) => isOfOthers(found, one);
  /** @type {HTMLElement} */ (find("#drawn-choice")).hidden = !last.series.some(others);
  /** @type {HTMLSelectElement} */ (find("#drawn")).value = last.drawn;
  const called = (/** @type {any} */ one) =>
    others(one) ? `all others (${one.groups.toLocaleString("en")})` : Object.values(one.group).map((value) => value ?? "unknown").join(", ") || "all";
  const colours = nameColours(last.series.filter((one) => !others(one)).map(called));
  const lines = last.series.map((/** @type {any} */ one) => ({
    label: called(one),
    colour: colours.get(called(one)) ?? colour("quiet"),
    dash: others(one) ? [6, 4] : undefined,
    values: aligned(one, one[quantile], begins),
    isGapped: true,
    band: one.intervals ? { low: aligned(one, one.intervals[quantile].low, begins), high: aligned(one, one.intervals[quantile].high, begins) } : undefined,
  }));
  draw(find("#tails"), { ...overSteps(last, begins), lines, y: { told: duration, isLog: true }, height: 260, name: `tail-${quantile}` });
  const hasBands = lines.some(({ band }) => band?.low.some((low, at) => low !== null && band.high[at] !== null));
  const instead = wished || quantile === "p95" ? "" : `${quantile}, as most steps have too few requests for p95; `;
  find("#tails").append(el("p", { class: "note" }, instead + drawnOf(last, begins, hasBands)));
}

/** @param {import("./documents.js").SpentDocument} spent */
function shares(spent) {
  if (!Object.keys(spent.cause_us).length) {
    fill(find("#shares"), el("p", { class: "teach" }, "No request in this window has a trace, so nothing can be said of causes. quiclens check LOG says what a server should log."));
    return;
  }
  const begins = steps(spent);
  const causes = [...CAUSES.keys()].filter((cause) => spent.cause_us[cause]);
  const totals = new Map(causes.map((cause) => [cause, spent.cause_us[cause].reduce((/** @type {number} */ a, /** @type {number} */ b) => a + b, 0)]));
  const sum = [...totals.values()].reduce((a, b) => a + b, 0);
  const ranked = [...totals].sort((a, b) => b[1] - a[1]);
  const largest = new Set(ranked.slice(0, LARGEST).map(([cause]) => cause));
  const own = causes.filter((cause) => largest.has(cause));
  const others = causes.filter((cause) => !largest.has(cause)).map((cause) => aligned(spent, spent.cause_us[cause], begins));
  const columns = own.map((cause) => ({ label: look(cause).name, colour: colour(`cause-${cause}`), us: aligned(spent, spent.cause_us[cause], begins) }));
  if (others.length) columns.push({ label: `${others.length} other causes`, colour: colour("quiet"), us: begins.map((_, at) => (others.every((each) => each[at] === null) ? null : others.reduce((all, each) => all + (each[at] ?? 0), 0))) });
  const stack = stacked(columns.map(({ us }) => us));
  // Drawn from the top of the stack down, so that each covers what is below it.
  const lines = columns.map(({ label, colour }, place) => ({ label, colour, values: stack[place], drawn: /** @type {const} */ ("bars"), width: 0, isGapped: true })).reverse();
  draw(find("#shares"), { ...overSteps(spent, begins), lines, y: { told: (share) => `${Math.round(share * 100)} %`, most: 1 }, height: 220, name: "causes" });
  const legend = ranked.map(([cause, us]) =>
    el("span", {}, el("i", { class: largest.has(cause) ? `cause-${cause}` : "other" }), filterLink(`top_cause=${cause}`, look(cause).name), ` ${percent(us / sum)}`));
  find("#shares").querySelector(".u-legend")?.remove();
  find("#shares").append(el("div", { class: "legend" }, ...legend));
}

/** @param {string} cause */
const look = (cause) => CAUSES.get(cause) ?? { name: cause };

/** Running sums of shares. @param {(number | null)[][]} columns */
function stacked(columns) {
  const totals = columns[0].map((_, at) => columns.reduce((sum, column) => sum + (column[at] ?? 0), 0));
  const below = totals.map(() => 0);
  return columns.map((column) => column.map((value, at) => {
    if (!totals[at]) return null;
    below[at] += (value ?? 0) / totals[at];
    return below[at];
  }));
}

if (document.querySelector("#window")) {
  wire(show);
  find("#drawn").addEventListener("change", () => {
    change({ drawn: /** @type {HTMLSelectElement} */ (find("#drawn")).value });
    isAsked("#tails");
    show(true);
  });
  find("#quantile").addEventListener("change", () => {
    change({ quantile: /** @type {HTMLSelectElement} */ (find("#quantile")).value });
    tails();
  });
}
