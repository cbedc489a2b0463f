// @ts-check
// The request that somebody came from, shaded in the charts of its connection.

import { colour } from "./dom.js";

/**
 * @typedef {object} Request
 * @property {string} name
 * @property {number} start_us since the trace began
 * @property {number} end_us
 */

/** A tone that lines stay readable on, light or dark. */
export const tone = () => `${colour("accent")}1f`;

/** @param {any} plot @param {Request | null} request */
export function shade(plot, request) {
  if (!request) return;
  const { ctx, bbox } = plot;
  const inside = (/** @type {number} */ us) => Math.min(bbox.left + bbox.width, Math.max(bbox.left, plot.valToPos(us, "x", true)));
  const [left, right] = [inside(request.start_us), inside(request.end_us)];
  if (right <= bbox.left || left >= bbox.left + bbox.width) return;
  ctx.fillStyle = tone();
  ctx.fillRect(left, bbox.top, Math.max(1, right - left), bbox.height);
}
