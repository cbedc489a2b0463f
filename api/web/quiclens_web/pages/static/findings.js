// @ts-check
// What is different about some requests, as a table whose rows can be made conditions.

import { el } from "./dom.js";
import { duration, percent, size, whole } from "./format.js";
import { filterLink } from "./window.js";

/** @typedef {{attribute: string, operator: string, value: string}} Condition */

/**
 * @param {import("./documents.js").DifferentDocument} found
 * @param {string} [those] the requests that were chosen
 * @returns {HTMLElement}
 */
export function findingsTable(found, those = "slow ones") {
  if (!found.findings.length) {
    const few = found.chosen < 30 ? ` With ${whole(found.chosen)} of ${whole(found.requests)} chosen there is little to go by.` : "";
    return el("p", { class: "teach" }, `Nothing is surely different about them.${few}`);
  }
  const [which, how] = [found.findings.filter((each) => !each.is_symptom), found.findings.filter((each) => each.is_symptom)];
  return el("div", {},
    el("table", {},
      el("thead", {}, el("tr", {}, el("th", {}, "requests with"), el("th", { class: "n" }, `${those} among them`), el("th", { class: "n" }, "elsewhere"), el("th", { class: "n" }, `${those} beyond that`))),
      el("tbody", {}, ...(which.length ? which.map(row) : [el("tr", {}, el("td", { colspan: 4 }, "no attribute surely more often"))])),
      ...(how.length ? [el("tbody", {}, el("tr", { class: "group" }, el("th", { colspan: 4, scope: "rowgroup" }, "how it shows")), ...how.map(row))] : [])),
    el("p", { class: "note" }, `${whole(found.chosen)} of ${whole(found.requests)} requests against the rest; ${whole(found.tested)} conditions and their pairs were tried; of those listed about 5 % may be chance.`));
}

/** @typedef {import("./documents.js").FindingDocument} Finding */

/** @param {Finding} each */
function row(each) {
  return el("tr", {},
    el("td", {}, ...conditions(each.conditions), ...remarks(each)),
    el("td", { class: "n", title: `${whole(each.chosen)} of ${whole(each.requests)}` }, percent(each.share)),
    el("td", { class: "n" }, percent(each.share_elsewhere)),
    el("td", { class: "n", title: `surely ${whole(each.excess_low)} to ${whole(each.excess_high)}` }, whole(each.excess)));
}

/** @param {Finding} each */
function remarks(each) {
  const listed = (/** @type {string} */ words, /** @type {readonly (readonly Condition[])[]} */ all) =>
    all.length ? [el("small", {}, ` ${words} `, ...all.flatMap((one, place) => [place ? ", " : "", ...conditions(one)]))] : [];
  return [
    ...listed("only because of those with", each.through.length ? [each.through] : []),
    ...listed("the same requests as", each.also.map((one) => [one])),
    ...listed("at other edges too:", each.nested.map((one) => one.conditions)),
  ];
}

/** @param {readonly Condition[]} all */
function conditions(all) {
  return all.flatMap((each, place) => [place ? " and " : "", filterLink(`${each.attribute}${each.operator}${each.value}`, words(each))]);
}

/** In words and with its unit. @param {Condition} condition */
function words({ attribute, operator, value }) {
  const [, name, unit] = /** @type {RegExpMatchArray} */ (attribute.match(/^(.*?)(_us|_bytes)?$/));
  const told = operator === "=" || !unit ? value : unit === "_us" ? duration(Number(value)) : size(Number(value));
  return `${name.replaceAll("_", " ")} ${operator === "=" ? "is" : operator === ">=" ? "at least" : "at most"} ${told}`;
}
