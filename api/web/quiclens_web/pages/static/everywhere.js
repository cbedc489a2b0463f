// @ts-check
// On every page: light or dark, keys, links that carry the window, and what scrolls.

import { keepCarried } from "./carried.js";
import { el, find } from "./dom.js";
import { age } from "./format.js";
import { keepScrolling } from "./scrolling.js";
import { showTicket } from "./ticket.js";

const KEPT = "quiclens-theme";

/** @param {string | null} theme */
function show(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}

function turn() {
  const now = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  localStorage.setItem(KEPT, next);
  show(next);
  dispatchEvent(new Event("theme"));
}

function help() {
  const keys = [["/", "find a request or a connection"], ["t", "light or dark"], ["g o", "overview"], ["g s", "slow requests"],
    ["1 … 6", "views of a connection"], ["0", "see all of a connection"], ["← →", "move in time, or from tab to tab"], ["+ −", "zoom"], ["Esc", "close this"]];
  const box = el("dialog", {}, el("h2", {}, "Keys"), el("table", { class: "facts" }, ...keys.map(([key, what]) => el("tr", {}, el("th", {}, el("kbd", {}, key)), el("td", {}, what)))),
    el("form", { method: "dialog" }, el("button", {}, "Close")));
  document.body.append(box);
  box.addEventListener("close", () => box.remove());
  /** @type {HTMLDialogElement} */ (box).showModal();
}

/** Copies what a button names. Where there is no clipboard, as over plain HTTP, the text beside it is selected. @param {HTMLButtonElement} button */
async function copy(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy ?? "");
    button.textContent = "copied";
  } catch {
    getSelection()?.selectAllChildren(button.previousElementSibling ?? button);
    button.textContent = "selected";
  }
}

for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("button[data-copy]"))) button.addEventListener("click", () => copy(button));
for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("button[data-ticket]"))) button.addEventListener("click", () => showTicket(button.dataset.ticket ?? "", "request.md"));
for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll("a[data-opens]"))) link.addEventListener("click", () => window.open(link.dataset.opens, "_blank", "noopener,noreferrer"));
for (const time of document.querySelectorAll("time")) {
  const tell = () => { time.title = `${new Date(time.dateTime).toLocaleString()} where you are, ${age(time.dateTime)}`; };
  tell();
  time.addEventListener("pointerenter", tell);
}
keepCarried();
keepScrolling();
show(localStorage.getItem(KEPT));
find("#theme").addEventListener("click", turn);

/** The link of the bar to a page. @param {string} page @returns {HTMLElement} */
const link = (page) => find(`nav [data-page="${page}"]`);

let before = "";
addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || target.matches("input, select, textarea")) return;
  const pair = before + event.key;
  before = event.key === "g" ? "g " : "";
  if (event.key === "/") {
    event.preventDefault();
    /** @type {HTMLInputElement} */ (find(".find input")).focus();
  } else if (event.key === "t") turn();
  else if (event.key === "?") help();
  else if (pair === "g o") link("/").click();
  else if (pair === "g s") link("/requests").click();
});
