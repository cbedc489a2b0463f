// @ts-check
// Packets: how frames fill packets, along the bytes that went each way.

import { ask } from "./api.js";
import { groupColour, streamColour } from "./colours.js";
import { colour, el, fill, note } from "./dom.js";
import { duration, percent, size, whole } from "./format.js";

const PAGE = 1500;
const HEIGHT = 132;

/** @param {HTMLElement} place @param {import("./connection.js").Shown} shown */
export async function packets(place, shown) {
  const [from_us, to_us] = shown.range;
  const found = await Promise.all(["quic:packet_sent", "quic:packet_received"].map((name) => ask(`${shown.path}/events`, { ...shown.trace, from_us, to_us, name, limit: PAGE }, shown.signal)));
  fill(place, ...["Sent", "Received"].map((title, way) => {
    const events = found[way].events.filter((/** @type {any} */ each) => each.packet_bytes);
    const cut = found[way].next_seq === null ? "" : `; the first ${whole(PAGE)}, zoom in for others`;
    return el("section", { class: "card" }, el("h2", {}, `${title} `, el("small", {}, `${whole(events.length)} packets, ${efficiency(events)} of their bytes were stream data${cut}`)),
      events.length ? lanes(events) : el("p", { class: "teach" }, "No packet with a size in this stretch of the log."));
  }), el("p", { class: "note" }, "Lanes: packets in turn light and dark; their frames by type; stream data by stream, in the colours of Streams. As wide as its bytes: scroll to the right for later ones. Frames of unknown length are left out, not guessed."));
}

/** @param {any[]} events */
function efficiency(events) {
  const all = events.reduce((sum, each) => sum + each.packet_bytes, 0);
  const data = events.reduce((sum, each) => sum + (each.frames ?? []).reduce((/** @type {number} */ part, /** @type {any} */ frame) => part + (frame.frame_type === "stream" ? frame.length : 0), 0), 0);
  return percent(all ? data / all : 0);
}

/** @param {any[]} events */
function lanes(events) {
  const canvas = /** @type {HTMLCanvasElement} */ (el("canvas"));
  const holder = el("div", { class: "canvas wide" }, canvas);
  /** @type {number[]} */
  const ends = [];
  let sum = 0;
  for (const each of events) ends.push((sum += each.packet_bytes));
  requestAnimationFrame(() => {
    const width = Math.max(holder.clientWidth, Math.min(16_000, events.length * 12));
    canvas.style.width = `${width}px`;
    canvas.style.height = `${HEIGHT}px`;
    canvas.width = width * devicePixelRatio;
    canvas.height = HEIGHT * devicePixelRatio;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(devicePixelRatio, devicePixelRatio);
    const x = (/** @type {number} */ bytes) => (bytes / sum) * width;
    const kinds = [...new Set(events.flatMap((each) => (each.frames ?? []).map((/** @type {any} */ frame) => frame.frame_type)))];
    let at = 0;
    events.forEach((each, number) => {
      context.fillStyle = number % 2 ? colour("sent") : `${colour("sent")}88`;
      context.fillRect(x(at), 6, Math.max(0.5, x(each.packet_bytes) - 0.4), 30);
      let inner = at;
      for (const frame of each.frames ?? []) {
        const length = frame.length ?? 0;
        context.fillStyle = groupColour(kinds.indexOf(frame.frame_type));
        context.fillRect(x(inner), 46, Math.max(1, x(length)), 30);
        if (frame.frame_type === "stream") {
          context.fillStyle = streamColour(frame.stream_id);
          context.fillRect(x(inner), 86, Math.max(1, x(length)), 30);
        }
        inner += length;
      }
      at += each.packet_bytes;
    });
    canvas.addEventListener("pointermove", (event) => {
      const bytes = (event.offsetX / width) * sum;
      const near = events[ends.findIndex((end) => end >= bytes)];
      note(near ? `${near.packet_type} ${near.packet_number}, ${size(near.packet_bytes)}, ${duration(near.time_us)}\n${(near.frames ?? []).map((/** @type {any} */ frame) => `${frame.frame_type}${frame.stream_id === undefined ? "" : ` ${frame.stream_id}`}${frame.length ? ` ${frame.length} B` : ""}`).join("\n")}` : "", event);
    });
    canvas.addEventListener("pointerleave", () => note(""));
  });
  return holder;
}
