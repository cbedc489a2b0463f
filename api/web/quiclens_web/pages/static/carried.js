// @ts-check
// The window, the grouping and the filter go along from page to page: links to pages that have them carry them.

import { state } from "./state.js";

const KEPT = "quiclens-window";
const ALL = ["since", "until", "by", "where"];
/** By page, what of it an address may say. @type {Record<string, string[] | undefined>} */
const TAKES = { "/": ALL, "/requests": ALL, "/reports": ALL, "/compare": ["since", "until"] };

/** What this page says, else what the last one said that had a window. */
function current() {
  const takes = TAKES[location.pathname];
  const now = state();
  const before = new URLSearchParams(sessionStorage.getItem(KEPT) ?? "");
  const said = new URLSearchParams();
  for (const name of ALL) {
    const from = takes?.includes(name) ? now : before;
    for (const value of from.getAll(name)) said.append(name, value);
  }
  sessionStorage.setItem(KEPT, said.toString());
  return said;
}

/** Hours and weekdays are groups of reports alone. @param {string} page @param {string} name @param {string} value */
const isKnown = (page, name, value) => name !== "by" || page === "/reports" || !value.split(",").some((column) => ["hour", "weekday"].includes(column.trim()));

/** Sets the address of every link to such a page. */
function carry() {
  const said = current();
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a[href^='/']"))) {
    link.dataset.page ??= link.getAttribute("href") ?? "";
    const takes = TAKES[link.dataset.page];
    if (!takes) continue;
    const query = new URLSearchParams([...said].filter(([name, value]) => takes.includes(name) && isKnown(link.dataset.page ?? "", name, value))).toString();
    link.href = `${link.dataset.page}${query ? `?${query}` : ""}`;
  }
}

/** Keeps them so. */
export function keepCarried() {
  carry();
  for (const event of ["state", "popstate"]) addEventListener(event, carry);
}
