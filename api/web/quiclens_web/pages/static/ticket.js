// @ts-check
// A finding, or a request, as Markdown for a ticket: shown, to be copied or saved.

import { el } from "./dom.js";

/** @param {string} text @param {string} name of the file */
export function showTicket(text, name) {
  const area = /** @type {HTMLTextAreaElement} */ (el("textarea", { rows: 18, cols: 80, readonly: true, "aria-label": "the ticket, in Markdown" }));
  area.value = text;
  const copy = el("button", { type: "button", onclick: () => copied(area, copy) }, "Copy");
  const save = el("a", { class: "button", href: URL.createObjectURL(new Blob([text], { type: "text/markdown" })), download: name }, "Save");
  const box = /** @type {HTMLDialogElement} */ (el("dialog", { class: "ticket", "aria-label": "ticket" }, area, el("p", { class: "actions" }, copy, save, el("button", { type: "button", onclick: () => box.close() }, "Close"))));
  document.body.append(box);
  box.addEventListener("close", () => {
    URL.revokeObjectURL(/** @type {HTMLAnchorElement} */ (save).href);
    box.remove();
  });
  box.showModal();
}

/** Where there is no clipboard, as over plain HTTP, the text is selected. @param {HTMLTextAreaElement} area @param {HTMLElement} button */
async function copied(area, button) {
  try {
    await navigator.clipboard.writeText(area.value);
    button.textContent = "Copied";
  } catch {
    area.select();
    button.textContent = "Selected";
  }
}
