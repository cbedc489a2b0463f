// @ts-check
// What has become worse, in sentences, with links to the requests of each finding.

import { el } from "./dom.js";
import { whole } from "./format.js";
import { requestPage } from "./state.js";
import { lineOf } from "./window.js";

/**
 * @param {import("./documents.js").TriageDocument} found
 * @param {() => void} ticket shows them as Markdown
 * @returns {HTMLElement}
 */
export function triageList(found, ticket) {
  const note = el("p", { class: "note" }, `${whole(found.tested)} comparisons with the time since ${found.before_since.slice(0, 16).replace("T", " ")} UTC; in at most one week of twenty is anything told that is chance.`);
  if (!found.findings.length) return el("div", {}, el("p", {}, found.coverage.requests ? "Nothing that chance does not explain." : "No requests."), note);
  return el("div", {}, el("ol", { class: "triage" }, ...found.findings.map((each) => el("li", {}, said(each.sentence), links(found, each)))), note, el("p", {}, el("button", { type: "button", onclick: ticket }, "Ticket")));
}

/** Who it is stands out. @param {string} sentence */
function said(sentence) {
  const end = Math.max(0, sentence.indexOf(": since "));
  return el("p", {}, el("strong", {}, sentence.slice(0, end)), sentence.slice(end));
}

/** @param {import("./documents.js").TriageDocument} found @param {import("./documents.js").TriageFinding} each */
function links(found, each) {
  const query = new URLSearchParams([["since", each.since], ["until", found.until]]);
  for (const { attribute, operator, value } of each.conditions) query.append("where", `${attribute}${operator}${value}`);
  const examples = each.examples.map(({ request_id }, place) => el("a", { href: requestPage(request_id) }, place ? "another" : "one explained"));
  return el("p", { class: "note" }, el("a", { href: `/?${query}` }, "these alone"), " · ", el("a", { href: `/requests?${query}` }, "their slowest"), " · ", el("a", { href: `/compare?${beforeAndAfter(found, each)}` }, "before and after"), ...examples.flatMap((link) => [" · ", link]));
}

/** A: its requests before it began, back to where the comparison did; B: those since. @param {import("./documents.js").TriageDocument} found @param {import("./documents.js").TriageFinding} each */
function beforeAndAfter(found, each) {
  const who = each.conditions.map(({ attribute, operator, value }) => `${attribute}${operator}${value}`);
  // The column has microseconds.
  const before = `${new Date(Date.parse(each.since) - 1).toISOString().slice(0, 23)}999Z`;
  return new URLSearchParams({ since: found.before_since, until: found.until, a: lineOf([...who, `started_at<=${before}`]), b: lineOf([...who, `started_at>=${each.since}`]) });
}
