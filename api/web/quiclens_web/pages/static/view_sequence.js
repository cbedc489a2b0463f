// @ts-check
// Sequence: packets as arrows between the two ends, other events beside the line. With traces of both ends packets are
// matched by number and the clocks' offset is the one that makes no packet arrive before it left.

import { ask } from "./api.js";
import { colour, el, fill, note, svg } from "./dom.js";
import { duration, ms, short, shortName, whole } from "./format.js";
import { packetName } from "./packet.js";
import { tone } from "./shade.js";
import { says } from "./view_log.js";

const PAGE = 600;
const ROW = 22;
const TIMES = 92; // where times end
const LEFT = 0.38; // of the width
const RIGHT = 0.96;
const LETTER = 6.4; // pixels of one, at most
const LEAST_WIDE = 900;
const AROUND_RTTS = 4; // before the stretch, of the other end's log

/** @typedef {{event: any, isOurs: boolean, us: number}} Entry */

/** @param {HTMLElement} place @param {import("./connection.js").Shown} shown */
export async function sequence(place, shown) {
  const [from_us, to_us] = shown.range;
  const asked = { from_us, to_us, limit: PAGE };
  const [own, page] = await Promise.all([ask(`${shown.path}/events`, { ...shown.trace, ...asked }, shown.signal), ask(shown.path, shown.trace, shown.signal)]);
  const peerTrace = page.traces.find((/** @type {any} */ each) => each.vantage !== shown.trace.vantage && ["client", "server"].includes(each.vantage));
  const half = (page.connection.rtt_min_us ?? 20_000) / 2;
  const peer = peerTrace ? await peerEvents({ vantage: peerTrace.vantage, trace_id: peerTrace.trace_id }, own.events, half, shown) : null;
  const [picture, matched] = diagram(own.events, peer, half, shown, Math.max(LEAST_WIDE, place.clientWidth - 34));
  const last = own.events[own.events.length - 1];
  fill(place, el("p", { class: "note" }, `${whole(own.events.length)} events${own.next_seq === null ? "" : ", and more"}. ${peer ? `${whole(matched)} packets were found in both ends' logs.` : `One end's log: the other end is drawn half the shortest round trip (${duration(half)}) away.`} `,
    "Rows in the order of the log, further apart where time passes, up to a bound; not to scale. ", own.next_seq === null ? "" : el("button", { type: "button", onclick: () => shown.zoom(last.time_us, last.time_us + (to_us - from_us)) }, "further")),
    el("section", { class: "card wide" }, picture));
}

/** @typedef {{ events: any[], from_us: number, to_us: number }} Peer what was read of the other end's log, by its own clock */

/**
 * The other end's events of the same stretch. Its clock is another one: how far off is told by where both logs begin.
 * @param {{ vantage: string, trace_id: string }} trace
 * @param {any[]} own
 * @param {number} half us
 * @param {import("./connection.js").Shown} shown
 * @returns {Promise<Peer>}
 */
async function peerEvents(trace, own, half, shown) {
  const events = (/** @type {{ vantage: string, trace_id: string }} */ of, /** @type {object} */ more) => ask(`${shown.path}/events`, { ...of, limit: PAGE * 2, ...more }, shown.signal);
  const [ours, theirs] = await Promise.all([events(shown.trace, {}), events(trace, {})]);
  const offset = clockOffset(ours.events, theirs.events, half);
  const first = own[0]?.time_us ?? 0;
  const from_us = Math.max(0, Math.floor(first - offset - AROUND_RTTS * 2 * half));
  const read = await events(trace, { from_us });
  const last = read.events[read.events.length - 1];
  return { events: read.events, from_us, to_us: read.next_seq === null ? Infinity : last?.time_us ?? from_us };
}

/** @param {any[]} own @param {Peer | null} read @param {number} half us @param {import("./connection.js").Shown} shown @param {number} width @returns {[SVGElement, number]} */
function diagram(own, read, half, shown, width) {
  const peer = read?.events ?? [];
  const [left, right] = [LEFT * width, RIGHT * width];
  const [besideAtMost, labelAtMost] = [left - TIMES - 20, right - left - 30].map((room) => Math.floor(room / LETTER));
  const offset = clockOffset(own, peer, half);
  const arrivals = new Map(peer.filter((each) => each.packet_number !== undefined).map((each) => [`${each.name}/${each.packet_type}/${each.packet_number}`, each]));
  const y = heights(own);
  const lost = new Set(own.filter((each) => each.name === "quic:packet_lost").map(packetName));
  const otherOf = (/** @type {any} */ event) => arrivals.get(`${event.name === "quic:packet_sent" ? "quic:packet_received" : "quic:packet_sent"}/${event.packet_type}/${event.packet_number}`);
  const packets = own.filter(({ name }) => name === "quic:packet_sent" || name === "quic:packet_received");
  const matched = packets.filter(otherOf).length;
  // A packet that the other end does not have did not arrive, where its log was read that far and the two logs do match.
  const isMissed = (/** @type {any} */ event) => read !== null && matched > 0 && event.time_us - offset >= read.from_us && event.time_us - offset + 4 * half <= read.to_us && event.time_us < own[own.length - 1].time_us - 4 * half;
  const shapes = own.flatMap((event, at) => {
    const top = y.rows[at];
    const isPacket = event.name === "quic:packet_sent" || event.name === "quic:packet_received";
    const time = svg("text", { class: "tick", x: TIMES, y: top + 4, "text-anchor": "end" }, at && own[at - 1].time_us === event.time_us ? "" : `${ms(event.time_us - shown.zero, 3)} ms`);
    const open = () => shown.go("log", { at_us: event.time_us });
    if (!isPacket) {
      const text = svg("text", { x: left - 12, y: top + 4, "text-anchor": "end", "font-size": 11.5, fill: colour(event.name === "quic:packet_lost" ? "lost" : "quiet"), onclick: open }, short(`${shortName(event.name).replaceAll("_", " ")} ${event.name === "quic:packet_lost" ? event.packet_number : ""} ${says(event)}`, besideAtMost));
      return [time, svg("g", { onpointermove: (/** @type {PointerEvent} */ pointer) => note(`${event.name}\n${says(event)}`, pointer), onpointerleave: () => note("") }, text)];
    }
    const isSent = event.name === "quic:packet_sent";
    const other = otherOf(event);
    const gone = isSent && (lost.has(packetName(event)) || (!other && isMissed(event)));
    const flight = other ? Math.abs(other.time_us + offset - event.time_us) : half;
    const drop = Math.min(90, Math.max(6, y.scale(flight))) * (isSent ? 1 : -1);
    const paint = colour(gone ? "lost" : isSent ? "sent" : "received");
    const [x1, x2] = [left, gone ? (left + right) / 2 : right];
    const end = top + (gone ? drop / 2 : drop);
    const line = isSent ? { x1, y1: top, x2, y2: end } : { x1: x2, y1: end, x2: x1, y2: top };
    const frames = (event.frames ?? []).map((/** @type {any} */ each) => each.frame_type);
    const label = `${event.packet_type} ${event.packet_number ?? ""}  ${frames.length >= 8 ? `${frames.length} frames` : says({ ...event, packet_type: undefined, packet_bytes: undefined })}`;
    return [time, svg("g", { onclick: open, onpointermove: (/** @type {PointerEvent} */ pointer) => note(`${event.name}\n${says(event)}`, pointer), onpointerleave: () => note("") },
      svg("line", { ...line, stroke: paint, "stroke-width": 1.4, "marker-end": gone ? null : `url(#${isSent ? "sent" : "received"})` }),
      gone ? svg("text", { x: x2, y: end + 5, fill: paint, "text-anchor": "middle" }, "✕") : null,
      svg("text", { class: "label", x: left + 10, y: top + (isSent ? -4 : 12), "font-size": 11.5, fill: paint }, short(label, labelAtMost)))];
  });
  const head = (/** @type {string} */ id) => svg("marker", { id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z", fill: colour(id) }));
  const lines = [left, right].map((x) => svg("line", { x1: x, x2: x, y1: 26, y2: y.height, stroke: colour("ink") }));
  const names = [shown.trace.vantage || "this end", shown.trace.vantage === "server" ? "client" : "server"].map((name, at) => svg("text", { x: at ? right : left, y: 18, "text-anchor": "middle", "font-weight": 700, fill: colour("ink") }, name));
  const gaps = y.gaps.map(([at, us]) => svg("text", { class: "tick", x: (left + right) / 2, y: at, "text-anchor": "middle" }, `${duration(us)} of silence`));
  const inside = own.flatMap(({ time_us }, at) => (shown.request && time_us >= shown.request.start_us && time_us <= shown.request.end_us ? [y.rows[at]] : []));
  const shaded = inside.length ? [svg("rect", { class: "request", x: 0, y: inside[0] - ROW / 2, width, height: inside[inside.length - 1] - inside[0] + ROW, fill: tone() })] : [];
  return [svg("svg", { viewBox: `0 0 ${width} ${y.height + 40}`, width, role: "img", "aria-label": `${own.length} events between the two ends; the event log has the same as text` }, svg("defs", {}, head("sent"), head("received")), ...shaded, ...lines, ...names, ...gaps, ...shapes), matched];
}

/** A row for each event, more room where time passes, a bounded gap for silence. @param {any[]} own */
function heights(own) {
  const steps = own.slice(1).map((each, at) => each.time_us - own[at].time_us).filter((us) => us > 0).sort((a, b) => a - b);
  const usual = steps[steps.length >> 1] ?? 1;
  const scale = (/** @type {number} */ us) => (us / usual) * 6;
  /** @type {[number, number][]} */
  const gaps = [];
  let top = 44;
  const rows = own.map((each, at) => {
    if (at) {
      const us = each.time_us - own[at - 1].time_us;
      const extra = Math.min(46, scale(us));
      if (scale(us) > 120) gaps.push([top + 38, us]);
      top += ROW + (us > 0 ? extra : 0);
    }
    return top;
  });
  return { rows, gaps, scale, height: top + 30 };
}

/** What to add to the peer's times: the middle of what makes every packet arrive after it left. @param {any[]} own @param {any[]} peer @param {number} half */
function clockOffset(own, peer, half) {
  const at = new Map(peer.filter((each) => each.packet_number !== undefined).map((each) => [`${each.name}/${each.packet_type}/${each.packet_number}`, each.time_us]));
  let [least, most] = [-Infinity, Infinity];
  for (const each of own) {
    if (each.name === "quic:packet_sent") {
      const there = at.get(`quic:packet_received/${each.packet_type}/${each.packet_number}`);
      if (there !== undefined) least = Math.max(least, each.time_us - there);
    } else if (each.name === "quic:packet_received") {
      const there = at.get(`quic:packet_sent/${each.packet_type}/${each.packet_number}`);
      if (there !== undefined) most = Math.min(most, each.time_us - there);
    }
  }
  if (Number.isFinite(least) && Number.isFinite(most)) return (least + most) / 2;
  return Number.isFinite(least) ? least + half : Number.isFinite(most) ? most - half : 0;
}
