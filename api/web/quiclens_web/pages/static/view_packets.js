// @ts-check
// Packets: how frames fill packets, along the bytes that went each way, and which packets were lost.

import { ask } from "./api.js";
import { streamColour } from "./colours.js";
import { colour, el, fill, note } from "./dom.js";
import { duration, ms, percent, size, whole } from "./format.js";
import { FRAME_KINDS, frameKind, packetName } from "./packet.js";
import { tone } from "./shade.js";

const PAGE = 1500;
const LOSSES = 5000;
const LEAST_WIDE = 12; // pixels of a packet, where there is room
const WIDEST = 16_000;
// Where each lane begins, and how high one is.
const [AXIS, PACKETS, FRAMES, STREAMS, HEIGHT] = [16, 26, 66, 106, 142];
const LANE = 30;
const TICK_ROOM = 40; // pixels without a label
const MARK = 7; // by how much a lost packet stands out

/** @param {HTMLElement} place @param {import("./connection.js").Shown} shown */
export async function packets(place, shown) {
  const [from_us, to_us] = shown.range;
  const stretch = { ...shown.trace, from_us, to_us, limit: PAGE };
  const [sent, received, losses] = await Promise.all([
    ask(`${shown.path}/events`, { ...stretch, name: "quic:packet_sent" }, shown.signal),
    ask(`${shown.path}/events`, { ...stretch, name: "quic:packet_received" }, shown.signal),
    // A packet of this stretch may be declared lost behind it.
    ask(`${shown.path}/events`, { ...shown.trace, from_us, name: "quic:packet_lost", limit: LOSSES }, shown.signal),
  ]);
  const lost = new Set(losses.events.map(packetName));
  const ways = /** @type {[string, any, Set<string>][]} */ ([["Sent", sent, lost], ["Received", received, new Set()]]);
  fill(place, ...ways.map(([title, found, lostOfIt]) => {
    const events = found.events.filter((/** @type {any} */ each) => each.packet_bytes);
    const gone = events.filter((/** @type {any} */ each) => lostOfIt.has(packetName(each))).length;
    const cut = found.next_seq === null ? "" : `; the first ${whole(PAGE)}, zoom in for others`;
    const told = `${whole(events.length)} packets${gone ? `, ${whole(gone)} of them lost` : ""}, ${efficiency(events)} of their bytes were stream data${cut}`;
    return el("section", { class: "card" }, el("h2", {}, `${title} `, el("small", {}, told)),
      ...(events.length ? lanes(events, lostOfIt, `${title}: ${told}`, shown) : [el("p", { class: "teach" }, "No packet with a size in this stretch of the log.")]));
  }), el("p", { class: "note" }, "Lanes from the top: packets, in turn light and dark, a lost one red and higher; their frames by kind; stream data by stream, in the colours of Streams. As wide as its bytes, so that the axis of time is not even. Frames of unknown length are left out, not guessed."));
}

/** @param {any[]} events */
function efficiency(events) {
  const all = events.reduce((sum, each) => sum + each.packet_bytes, 0);
  const data = events.reduce((sum, each) => sum + (each.frames ?? []).reduce((/** @type {number} */ part, /** @type {any} */ frame) => part + (frame.frame_type === "stream" ? frame.length : 0), 0), 0);
  return percent(all ? data / all : 0);
}

/** The lanes, what of them is in sight, and their colours. @param {any[]} events @param {Set<string>} lost @param {string} told @param {import("./connection.js").Shown} shown */
function lanes(events, lost, told, shown) {
  const canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { role: "img", "aria-label": `${told}. The event log has the same as text.` }));
  const holder = el("div", { class: "canvas lanes", tabindex: "0", role: "group", "aria-label": "packets; arrow keys scroll" }, canvas);
  const sight = el("p", { class: "note" });
  /** @type {number[]} */
  const ends = [];
  let sum = 0;
  for (const each of events) ends.push((sum += each.packet_bytes));
  requestAnimationFrame(() => {
    const width = Math.max(holder.clientWidth, Math.min(WIDEST, events.length * LEAST_WIDE));
    canvas.style.width = `${width}px`;
    canvas.style.height = `${HEIGHT}px`;
    canvas.width = width * devicePixelRatio;
    canvas.height = HEIGHT * devicePixelRatio;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(devicePixelRatio, devicePixelRatio);
    const x = (/** @type {number} */ bytes) => (bytes / sum) * width;
    const startOf = (/** @type {number} */ at) => ends[at] - events[at].packet_bytes;
    const near = (/** @type {number} */ left) => Math.max(0, ends.findIndex((end) => end >= (left / width) * sum));
    if (shown.request) shadeRequest(context, events, shown.request, (at) => x(at < events.length ? startOf(at) : sum));
    events.forEach((each, at) => {
      const isLost = lost.has(packetName(each));
      context.fillStyle = isLost ? colour("lost") : at % 2 ? colour("quiet") : `${colour("quiet")}88`;
      context.fillRect(x(startOf(at)), PACKETS - (isLost ? MARK : 0), Math.max(isLost ? 2 : 0.5, x(each.packet_bytes) - 0.4), LANE + (isLost ? MARK : 0));
      let inner = startOf(at);
      for (const frame of each.frames ?? []) {
        const length = frame.length ?? 0;
        context.fillStyle = frameKind(frame.frame_type)[1];
        context.fillRect(x(inner), FRAMES, Math.max(1, x(length)), LANE);
        if (frame.frame_type === "stream") {
          context.fillStyle = streamColour(frame.stream_id);
          context.fillRect(x(inner), STREAMS, Math.max(1, x(length)), LANE);
        }
        inner += length;
      }
    });
    axis(context, events, (at) => x(startOf(at)), width, shown.zero);
    const see = () => {
      const [first, last] = [holder.scrollLeft, holder.scrollLeft + holder.clientWidth].map((left) => events[near(Math.min(left, width - 1))].time_us);
      sight.textContent = width > holder.clientWidth ? `In sight: ${duration(first - shown.zero)} to ${duration(last - shown.zero)}, ${percent(holder.clientWidth / width)} of what is drawn; scroll to the side for the rest.` : "";
    };
    holder.addEventListener("scroll", see);
    see();
    canvas.addEventListener("pointermove", (event) => {
      const each = events[near(event.offsetX)];
      note(`${each.packet_type} ${each.packet_number}${lost.has(packetName(each)) ? ", lost" : ""}, ${size(each.packet_bytes)}, ${duration(each.time_us - shown.zero)}\n${(each.frames ?? []).map((/** @type {any} */ frame) => `${frame.frame_type}${frame.stream_id === undefined ? "" : ` ${frame.stream_id}`}${frame.length ? ` ${frame.length} B` : ""}`).join("\n")}`, event);
    });
    canvas.addEventListener("pointerleave", () => note(""));
  });
  return [sight, holder, legend(events, lost)];
}

/** @param {CanvasRenderingContext2D} context @param {any[]} events @param {import("./shade.js").Request} request @param {(at: number) => number} x */
function shadeRequest(context, events, request, x) {
  const first = events.findIndex((each) => each.time_us >= request.start_us);
  const after = events.findIndex((each) => each.time_us > request.end_us);
  if (first < 0 || after === 0) return;
  context.fillStyle = tone();
  context.fillRect(x(first), AXIS, x(after < 0 ? events.length : after) - x(first), HEIGHT - AXIS);
}

/** When packets were: about every so many pixels the time of the one that begins there. @param {CanvasRenderingContext2D} context @param {any[]} events @param {(at: number) => number} x @param {number} width @param {number} zero us */
function axis(context, events, x, width, zero) {
  context.fillStyle = colour("quiet");
  context.font = "11px system-ui";
  let free = 0;
  events.forEach((each, at) => {
    const left = x(at);
    const text = `${ms(each.time_us - zero)} ms`;
    const end = left + 4 + context.measureText(text).width;
    if (left < free || end > width) return;
    context.fillRect(left, 2, 1, HEIGHT - 4);
    context.fillText(text, left + 4, 11);
    free = end + TICK_ROOM;
  });
}

/** @param {any[]} events @param {Set<string>} lost */
function legend(events, lost) {
  const seen = new Set(events.flatMap((each) => (each.frames ?? []).map((/** @type {any} */ frame) => frameKind(frame.frame_type)[0])));
  const dot = (/** @type {string} */ name, /** @type {string} */ paint) => {
    const made = el("i");
    made.style.background = paint;
    return el("span", {}, made, name);
  };
  const kinds = [...FRAME_KINDS, frameKind("")].filter(([name]) => seen.has(name)).map(([name, paint]) => dot(name, paint));
  return el("p", { class: "legend" }, ...(events.some((each) => lost.has(packetName(each))) ? [dot("lost packet", colour("lost"))] : []), el("span", {}, "frames:"), ...kinds);
}
