// @ts-check
// The form that says which requests: a stretch of time, a grouping, conditions. It stands in the address.

import { chooseValue, el, fill, find } from "./dom.js";
import { change, state } from "./state.js";

/**
 * @typedef {object} Window
 * @property {string} since
 * @property {string} until
 * @property {string} by
 * @property {string[]} where
 */

/** @returns {HTMLFormElement} */
const form = () => find("#window");

/** @param {string} name */
const field = (name) => /** @type {HTMLInputElement} */ (form().elements.namedItem(name));

/** What the address says, else what the page was made with. @returns {Window} */
export function chosen() {
  const now = state();
  return {
    since: now.get("since") ?? field("since").defaultValue,
    until: now.get("until") ?? field("until").defaultValue,
    by: now.get("by") ?? field("by").value,
    where: now.getAll("where"),
  };
}

/** The instant at which the window of the form ends, in ms; null: now. A time without a zone is UTC; when an age or a time of day is, the answer has told. @param {string} until */
function endOf(until) {
  if (!until) return null;
  const instant = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/i.test(until) ? until : `${until}Z`);
  if (Number.isFinite(instant)) return instant;
  const told = until === chosen().until ? Date.parse(form().dataset.until ?? "") : NaN;
  return Number.isFinite(told) ? told : null;
}

/** Up to now, or to an age: the same address shows other requests later. @param {string} until */
const isRelative = (until) => until === "" || !Number.isFinite(Date.parse(until));

/** Which stretch the answers on the page are of, where the form has an age. @param {{ since: string, until: string }} stretch */
export function answered(stretch) {
  form().dataset.since = stretch.since.replace(/\.\d+Z$/, "Z");
  form().dataset.until = stretch.until.replace(/\.\d+Z$/, "Z");
}

/**
 * Wires the form; `show` is called at once and after every change, and again and again while the page is live: then what is
 * shown stays until it is answered.
 * @param {(isLive?: boolean) => void} show
 */
export function wire(show) {
  const shown = () => {
    const now = chosen();
    field("since").value = now.since;
    field("until").value = now.until;
    // An address may group by any column, and by several; so it stays when the form is sent.
    chooseValue(/** @type {HTMLSelectElement} */ (form().elements.namedItem("by")), now.by);
    /** @type {HTMLElement} */ (find("#live")).hidden = !isRelative(now.until);
    for (const place of document.querySelectorAll(".by-name")) place.textContent = now.by.replaceAll("_", " ");
    fill(find("#filters"), ...now.where.map((text) => chip(text, () => go({ where: now.where.filter((each) => each !== text) }))));
    show();
  };
  /** @param {Record<string, string | string[] | null>} changes */
  const go = (changes) => {
    const before = chosen();
    change(changes);
    const now = chosen();
    // A box was drawn in the window that was.
    if (before.since !== now.since || before.until !== now.until) change({ box: null }, false);
    shown();
  };
  form().addEventListener("submit", (event) => {
    event.preventDefault();
    const where = [...new Set([...chosen().where, ...conditionsOf(field("where").value)])];
    field("where").value = "";
    go({ since: field("since").value, until: field("until").value, by: field("by").value, where });
  });
  field("by").addEventListener("change", () => go({ by: field("by").value }));
  for (const button of form().querySelectorAll("[data-age]")) {
    button.addEventListener("click", () => {
      const age = /** @type {HTMLElement} */ (button).dataset.age ?? "1h";
      const until = endOf(field("until").value);
      // Up to now the length is an age.
      go({ since: until === null ? age : new Date(until - seconds(age) * 1e3).toISOString().slice(0, 19) + "Z", until: field("until").value });
    });
  }
  /** Asks again, some seconds after what was asked before. */
  let waits = 0;
  const goOn = () => {
    waits = window.setTimeout(() => {
      if (isRelative(chosen().until) && document.visibilityState === "visible") {
        show(true);
        void tellNewest();
      }
      goOn();
    }, Number(form().dataset.everyS) * 1e3);
  };
  field("live").addEventListener("change", () => {
    clearTimeout(waits);
    if (field("live").checked) goOn();
  });
  addEventListener("popstate", shown);
  addEventListener("theme", shown);
  addEventListener("filter", (event) => go({ where: [...new Set([...chosen().where, /** @type {CustomEvent<string>} */ (event).detail])] }));
  shown();
}

/** How old the newest request is by now; where no page comes, what was told before stays: who asks for rows says why. */
async function tellNewest() {
  const page = await fetch(location.pathname, { headers: { accept: "text/html" } }).then((answer) => answer.text(), () => "");
  const told = new DOMParser().parseFromString(page, "text/html").querySelector("#window .newest");
  if (told) document.querySelector("#window .newest")?.replaceWith(told);
}

/** Conditions of one line: values may hold blanks, or stand in quotes, as those must that hold another condition. @param {string} text */
export function conditionsOf(text) {
  const next = /[a-z_0-9]+\s*(?:!=|!~|>=|<=|=|~|>|<)/.source;
  const line = text.trim();
  const found = [...line.matchAll(new RegExp(`(${next})\\s*(?:"([^"]*)"|'([^']*)'|(.*?))(?=\\s+(?:OR\\s+)?${next}|\\s*$)`, "g"))];
  const before = line.slice(0, found[0]?.index ?? text.length).trim();
  const conditions = before ? [before] : [];
  let ended = 0;
  for (const match of found) {
    const [whole, name, double, single, plain] = match;
    const told = name.replace(/\s+/g, "") + (double ?? single ?? plain);
    // With OR between them they are one condition.
    if (ended && line.slice(ended, match.index).trim() === "OR") conditions.push(`${conditions.pop()} OR ${told}`);
    else conditions.push(told);
    ended = match.index + whole.length;
  }
  return conditions;
}

/** The line of which conditions are made: what is empty, or holds blanks, quotes or signs, stands in quotes. @param {string[]} conditions */
export function lineOf(conditions) {
  return conditions.map((text) => {
    const parts = text.match(/^([a-z_0-9]+)(!=|!~|>=|<=|=|~|>|<)(.*)$/s);
    if (!parts || !/^$|[\s"'=<>!~]/.test(parts[3])) return text;
    const quote = parts[3].includes('"') ? "'" : '"';
    return `${parts[1]}${parts[2]}${quote}${parts[3]}${quote}`;
  }).join(" ");
}

/** A link that adds a condition to the page's filter; opened in another tab, it does so there. @param {string} text @param {string} words */
export function filterLink(text, words) {
  const query = state();
  query.append("where", text);
  const add = (/** @type {MouseEvent} */ event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    dispatchEvent(new CustomEvent("filter", { detail: text }));
  };
  return el("a", { href: `${location.pathname}?${query}`, title: "add as a condition", onclick: add }, words);
}

/**
 * @param {import("./documents.js").ReportCoverage} coverage
 * @returns {string}
 */
export function covered(coverage) {
  const share = coverage.requests ? Math.round((100 * coverage.traced) / coverage.requests) : 0;
  const missing = Object.entries({ repaired: coverage.repaired, damaged: coverage.damaged }).filter(([, count]) => count).map(([grade, count]) => `${count?.toLocaleString("en")} ${grade}`).join(", ");
  return `${coverage.requests.toLocaleString("en")} requests, ${coverage.traced.toLocaleString("en")} of them (${share} %) with a trace` +
    (missing && `; records of their log are missing: ${missing}`) +
    (Math.round(coverage.weight) === coverage.requests ? "" : `; they stand for about ${Math.round(coverage.weight).toLocaleString("en")}`);
}

/** @param {string} text @param {() => void} removed */
function chip(text, removed) {
  return el("span", { class: "chip" }, text, el("button", { type: "button", "aria-label": `without ${text}`, onclick: removed }, "×"));
}

/** @param {string} age */
function seconds(age) {
  return Number(age.slice(0, -1)) * { m: 60, h: 3_600, d: 86_400 }[/** @type {"m" | "h" | "d"} */ (age.slice(-1))];
}
