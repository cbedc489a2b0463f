// @ts-check
// A chart as a picture that says what it shows: title, window and filter, legend, address.

import { colour } from "./dom.js";
import { state } from "./state.js";

/**
 * @typedef {object} Caption
 * @property {string} title with its unit
 * @property {string} of the window and the filter
 * @property {string} address where the page stands
 */

/** What stands around a chart on its page. @param {Element} place @param {string} name @returns {Caption} */
export function caption(place, name) {
  const heading = place.closest("section, article")?.querySelector("h2")?.textContent ?? name;
  // What was asked, not what somebody has typed since.
  const field = (/** @type {string} */ part) => state().get(part) ?? /** @type {HTMLInputElement | null} */ (document.querySelector(`#window [name=${part}]`))?.defaultValue ?? "";
  const stretch = /** @type {HTMLElement | null} */ (document.querySelector("#window"))?.dataset ?? {};
  const [since, until] = [stretch.since ?? field("since"), stretch.until ?? field("until")];
  const window = since || until ? `${since} to ${until} (UTC)` : (document.querySelector("h1")?.textContent ?? "");
  return { title: tidy(heading), of: tidy([window, ...state().getAll("where")].join(", ")), address: location.href };
}

/** Of a captioned picture: from one line of text to the next, and around it. */
export const [LINE, MARGIN] = [18, 10];

/** How much higher a captioned picture is than its chart: above it and below it. @param {number} lines of the legend */
export function margins(lines) {
  return { above: 2 * LINE + MARGIN, below: (lines + 1) * LINE + MARGIN };
}

/**
 * The canvas of a chart with its caption.
 * @param {HTMLCanvasElement} drawn
 * @param {number} width of the chart, in CSS pixels
 * @param {{ label: string, colour: string }[]} legend
 * @param {Caption} said
 * @returns {HTMLCanvasElement}
 */
export function captioned(drawn, width, legend, said) {
  const ratio = drawn.width / width;
  const room = margins(legend.length);
  const whole = document.createElement("canvas");
  whole.width = drawn.width;
  whole.height = drawn.height + (room.above + room.below) * ratio;
  const pen = whole.getContext("2d");
  if (!pen) return drawn;
  pen.fillStyle = colour("card");
  pen.fillRect(0, 0, whole.width, whole.height);
  pen.drawImage(drawn, 0, room.above * ratio);
  pen.scale(ratio, ratio);
  pen.textBaseline = "top";
  pen.fillStyle = colour("ink");
  pen.font = "bold 14px system-ui";
  pen.fillText(said.title, MARGIN, MARGIN);
  pen.font = "12px system-ui";
  pen.fillText(said.of, MARGIN, MARGIN + LINE);
  const below = drawn.height / ratio + room.above + MARGIN / 2;
  for (const [at, line] of legend.entries()) {
    pen.fillStyle = line.colour;
    pen.fillRect(MARGIN, below + at * LINE + 2, 10, 10);
    pen.fillStyle = colour("ink");
    pen.fillText(line.label, MARGIN + 16, below + at * LINE);
  }
  pen.fillStyle = colour("quiet");
  pen.fillText(said.address, MARGIN, below + legend.length * LINE);
  return whole;
}

/** @param {string} text */
function tidy(text) {
  return text.replace(/\s+/g, " ").trim();
}
