// @ts-check
// Upload: drop files, see progress, land on the connection.

import { problemText } from "./api.js";
import { el, fill, find } from "./dom.js";
import { size, whole } from "./format.js";

/** @param {FileList | File[]} files */
async function upload(files) {
  /** @type {string[]} */
  const found = [];
  for (const file of files) found.push(...(await one(file)));
  if (files.length === 1 && found.length === 1) location.href = `/connections/${encodeURIComponent(found[0])}`;
}

/**
 * @param {File} file
 * @returns {Promise<string[]>} the connections found in it
 */
function one(file) {
  const bar = /** @type {HTMLProgressElement} */ (el("progress", { max: file.size, value: 0 }));
  const told = el("span", {}, " ");
  const request = new XMLHttpRequest();
  const stop = el("button", { type: "button", onclick: () => request.abort() }, "cancel");
  find("#uploads").append(el("li", {}, `${file.name}, ${size(file.size)} `, bar, " ", stop, told));
  request.upload.onprogress = (event) => {
    bar.value = event.loaded;
    if (event.loaded === event.total) told.textContent = " reading …";
  };
  return new Promise((done) => {
    request.onloadend = () => {
      stop.remove();
      bar.remove();
      done(answered(request, told));
    };
    request.open("POST", `/api/v1/traces?name=${encodeURIComponent(file.name)}`);
    request.send(file);
  });
}

/** Why it was not loaded; what answers need not be quiclens. @param {XMLHttpRequest} request */
function problemOf(request) {
  if (!request.status) return "given up, or the server cannot be reached";
  try {
    return problemText(JSON.parse(request.responseText));
  } catch {
    return `${request.status} ${request.statusText}, from something between this browser and quiclens`;
  }
}

/** @param {XMLHttpRequest} request @param {HTMLElement} told @returns {string[]} */
function answered(request, told) {
  if (request.status !== 201) {
    told.className = "error";
    told.textContent = ` ${problemOf(request)}`;
    return [];
  }
  const loaded = JSON.parse(request.responseText);
  const { truncated, ...others } = loaded.rejected;
  const rejected = Object.entries(others).map(([reason, count]) => `${count} × ${reason.replaceAll("_", " ")}`).join(", ");
  const names = loaded.connections_found.map((/** @type {any} */ each) => each.connection_id);
  fill(told, ` ${whole(loaded.events)} events${truncated ? "; the file is cut, its last record is not whole" : ""}${rejected ? `, rejected: ${rejected}` : ""} `, ...names.flatMap((/** @type {string} */ name) => [el("a", { href: `/connections/${encodeURIComponent(name)}` }, name), " "]));
  if (!names.length) told.append("No connection was found in it.");
  return names;
}

const drop = find("#drop");
const input = /** @type {HTMLInputElement} */ (find("#files"));
input.addEventListener("change", () => input.files && upload(input.files));
for (const name of ["dragenter", "dragover"]) drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  const files = /** @type {DragEvent} */ (event).dataTransfer?.files;
  if (files?.length) upload(files);
});
