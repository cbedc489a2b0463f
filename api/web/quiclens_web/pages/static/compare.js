// @ts-check
// Two groups: quantiles with intervals, differences, and what their time was spent on.

import { ask, newest } from "./api.js";
import { CAUSES } from "./causes.js";
import { el, fill, find } from "./dom.js";
import { duration, percent, whole } from "./format.js";
import { change, state } from "./state.js";
import { conditionsOf } from "./window.js";

const newestPair = newest();
/** @param {string} name */
const field = (name) => /** @type {HTMLInputElement} */ (/** @type {HTMLFormElement} */ (find("#window")).elements.namedItem(name));

/** @type {("a" | "b")[]} */
const SIDES = ["a", "b"];

function show() {
  const now = state();
  for (const name of ["since", "until", "a", "b"]) if (now.has(name)) field(name).value = now.get(name) ?? "";
  if (!now.has("a") && !now.has("b")) return;
  /** @type {HTMLElement} */ (find("#teach")).hidden = true;
  newestPair(async (signal) => {
    fill(find("#compared"), el("p", { class: "note" }, "asking …"));
    const found = await ask("/api/v1/compare", { since: field("since").value, until: field("until").value, a: conditionsOf(field("a").value), b: conditionsOf(field("b").value) }, signal);
    const empty = SIDES.filter((side) => !found[side].requests);
    const untraced = SIDES.filter((side) => found[side].requests && !found[side].traced);
    fill(find("#compared"), ...empty.map((side) => el("p", { class: "teach" }, `${side.toUpperCase()} has no request: ${found[side].where.join(" ") || "everything"} fits none in this window.`)),
      quantiles(found), ...untraced.map((side) => el("p", { class: "teach" }, `No request of ${side.toUpperCase()} has a trace, so nothing can be said of what they waited for.`)),
      ...(empty.length || untraced.length ? [] : [causes(found)]));
  }, (message) => fill(find("#compared"), el("p", { class: "error" }, message)));
}

/** @param {import("./documents.js").ComparedDocument} found */
function quantiles(found) {
  const told = (/** @type {import("./documents.js").Quantile} */ one) => (one.us === null ? "too few" : `${duration(one.us)}`);
  const between = (/** @type {import("./documents.js").Quantile} */ one) => (isBounded(one) ? `${duration(one.low_us)} – ${duration(one.high_us)}` : "");
  const side = (/** @type {import("./documents.js").ComparedGroup} */ group) => `${whole(group.requests)} requests, ${whole(group.traced)} traced`;
  return el("section", { class: "card" }, el("h2", {}, "How long they took ", el("small", {}, "with 95 % intervals")), el("table", {},
    el("thead", {}, el("tr", {}, el("td", {}), el("th", { class: "n" }, `A: ${found.a.where.join(" ") || "everything"}`), el("th", {}, side(found.a)), el("th", { class: "n" }, `B: ${found.b.where.join(" ") || "everything"}`), el("th", {}, side(found.b)), el("th", { class: "n" }, "B − A"), el("td", {}), ...(found.same_mix ? [el("th", { class: "n" }, "of the same mix"), el("td", {})] : []))),
    el("tbody", {}, ...found.differences.map((each) => {
      const [a, b] = [found.a.quantiles[each.quantile], found.b.quantiles[each.quantile]];
      const alike = found.same_mix?.differences.find(({ quantile }) => quantile === each.quantile);
      return el("tr", {}, el("th", {}, each.quantile), el("td", { class: "n" }, told(a)), el("td", {}, el("small", {}, between(a))), el("td", { class: "n" }, told(b)), el("td", {}, el("small", {}, between(b))),
        ...difference(each, found.a, found.b), ...(found.same_mix && alike ? difference(alike, { quantiles: found.same_mix.a }, { quantiles: found.same_mix.b }) : []));
    }))), el("p", { class: "note" }, sameMix(found)));
}

/** B less A, and how sure that is, or why nobody knows. @typedef {Pick<import("./documents.js").ComparedGroup, "quantiles">} Group @param {import("./documents.js").Difference} each @param {Group} a @param {Group} b */
function difference(each, a, b) {
  const short = /** @type {[string, Group][]} */ ([["A", a], ["B", b]]).flatMap(([name, { quantiles }]) => (isBounded(quantiles[each.quantile]) ? [] : [name]));
  const sure = each.low_us !== null && each.high_us !== null && (each.low_us > 0 || each.high_us < 0);
  return [el("td", { class: `n ${sure ? ((each.us ?? 0) > 0 ? "up" : "down") : ""}` }, each.us === null ? "" : `${each.us > 0 ? "+" : "−"}${duration(Math.abs(each.us))}`),
    el("td", {}, el("small", {}, short.length ? `${short.join(" and ")} ${short.length > 1 ? "have" : "has"} too few to say how sure` : sure ? "95 % sure" : "could be chance"))];
}

/** @param {import("./documents.js").Quantile} one */
const isBounded = (one) => one.us !== null && one.low_us !== null && one.high_us !== null;

const CUTS = new Map([["carrier", "carrier"], ["path", "path"], ["response_bytes", "size of response"]]);

/** What the mix is, and of how many requests it is known. @param {import("./documents.js").ComparedDocument} found */
function sameMix({ same_mix: same }) {
  if (!same) return "A and B have too few requests in common, by carrier, path or size of response, to say what the same mix of them would take: the difference may be one of what they ask for.";
  const by = same.by.map((name) => CUTS.get(name) ?? name);
  const named = [by.slice(0, -1).join(", "), ...by.slice(-1)].filter(Boolean).join(" and ");
  return `Of the same mix: A and B weighed so that each ${named} has the same share of both, in ${whole(same.strata)} strata; ${percent(same.a_covered)} of A and ${percent(same.b_covered)} of B have a counterpart. Where the two columns differ, A and B ask for other things.`;
}

/** @param {import("./documents.js").ComparedDocument} found */
function causes(found) {
  const sum = (/** @type {Record<string, number>} */ us) => Math.max(1, Object.values(us).reduce((a, b) => a + b, 0));
  const [all, other] = [sum(found.a.cause_us), sum(found.b.cause_us)];
  const rows = [...CAUSES].filter(([cause]) => found.a.cause_us[cause] || found.b.cause_us[cause]).map(([cause, look]) => {
    const [a, b] = [(found.a.cause_us[cause] ?? 0) / all, (found.b.cause_us[cause] ?? 0) / other];
    return { cause, look, a, b };
  }).sort((one, two) => Math.abs(two.b - two.a) - Math.abs(one.b - one.a));
  return el("section", { class: "card" }, el("h2", {}, "What they waited for ", el("small", {}, "share of the time of traced requests, largest difference first")), el("table", {},
    el("thead", {}, el("tr", {}, el("td", {}), el("th", { class: "n" }, "A"), el("th", { class: "n" }, "B"), el("th", { class: "n" }, "B − A"))),
    el("tbody", {}, ...rows.map(({ cause, look, a, b }) => el("tr", {}, el("td", {}, el("i", { class: `swatch cause-${cause}` }), ` ${look.name}`), el("td", { class: "n" }, percent(a)), el("td", { class: "n" }, percent(b)), el("td", { class: "n" }, `${b >= a ? "+" : "−"}${(Math.abs(b - a) * 100).toFixed(1)} points`))))));
}

if (document.querySelector("#window")) {
  find("#window").addEventListener("submit", (event) => {
    event.preventDefault();
    change({ since: field("since").value, until: field("until").value, a: field("a").value || " ", b: field("b").value || " " });
    show();
  });
  addEventListener("popstate", () => location.reload()); // fields that the address lacks are as the server makes them
  show();
}
