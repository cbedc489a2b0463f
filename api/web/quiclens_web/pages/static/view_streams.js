// @ts-check
// Streams: a waterfall over time, the frames of all streams in their order, and a table.

import { ask } from "./api.js";
import { CAUSES } from "./causes.js";
import { streamColour } from "./colours.js";
import { colour, el, fill, note, svg } from "./dom.js";
import { duration, ms, rate, size, whole } from "./format.js";
import { roundTicks, toldIn } from "./ticks.js";

const WIDTH = 1000;
const MIDDLE = 770; // where time ends
const SHARES = 800;
const LANE = 18;
const LEFT = 70;
const LANES = 300;
const TICKS = 6;
const END = 40; // so near to where time ends a label stands before its tick
const KEYS = 24; // streams whose colours are named
// The strip: where its axis is written, where what was sent again is marked, what was sent, what was received.
const [AXIS, AGAIN, SENT, RECEIVED, HEIGHT] = [12, 18, 28, 70, 104];

/** @typedef {import("./answers.js").Series} Series */

/** @param {HTMLElement} place @param {import("./connection.js").Shown} shown */
export async function streams(place, shown) {
  const [from_us, to_us] = shown.range;
  const [found, series] = await Promise.all([ask(`${shown.path}/streams`, shown.trace, shown.signal), ask(`${shown.path}/series`, { ...shown.trace, from_us, to_us }, shown.signal)]);
  const inside = found.streams.filter((/** @type {any} */ each) => each.end_us >= from_us && each.start_us <= to_us);
  const chosen = el("div", {});
  fill(place,
    el("section", { class: "card" }, el("h2", {}, "Requests over time ", el("small", {}, "each bar is a request, from its start to its end; ○ the request is complete, ▮ the first byte of the answer")), ...(inside.length ? [waterfall(inside.slice(0, LANES), shown), legend(inside.slice(0, LANES))] : [el("p", { class: "teach" }, "No request stream in this stretch.")]),
      inside.length > LANES ? el("p", { class: "note" }, `The first ${LANES} of ${whole(inside.length)}; zoom in for others.`) : ""),
    el("section", { class: "card" }, el("h2", {}, "Stream data in the order it was sent ", el("small", {}, "over the same time as above; a mark above a frame: it was sent again")), strip(series, shown), key(series), chosen),
    el("section", { class: "card" }, el("h2", {}, "Streams"), list(inside, shown.zero)));
}

/** On the left time, on the right what each request's time went to: the parts are sums, they stand nowhere in time. @param {any[]} all @param {import("./connection.js").Shown} shown */
function waterfall(all, shown) {
  const [from, to] = shown.range;
  const x = (/** @type {number} */ us) => LEFT + (Math.min(to, Math.max(from, us)) - from) / (to - from) * (MIDDLE - LEFT);
  const isSeen = (/** @type {any} */ us) => us !== null && us !== undefined && us >= from && us <= to;
  const lanes = all.map((each, at) => {
    const y = 20 + at * LANE;
    let left = SHARES;
    const parts = each.parts.map((/** @type {any} */ part) => {
      const width = (part.us / Math.max(1, each.duration_us)) * (WIDTH - SHARES);
      left += width;
      return svg("rect", { class: `cause-${part.cause}`, x: left - width, y: y + 2, width: Math.max(0.6, width), height: LANE - 5 });
    });
    const told = `stream ${each.stream_id}  ${each.method ?? ""} ${each.path ?? ""}\n${duration(each.duration_us)}, ${size(each.response_bytes)}\n${each.parts.map((/** @type {any} */ part) => `${CAUSES.get(part.cause)?.name}: ${duration(part.us)}`).join("\n")}`;
    const whole_ = svg("rect", { class: "whole", x: x(each.start_us), y: y + 2, width: Math.max(1, x(each.end_us) - x(each.start_us)), height: LANE - 5 });
    const dots = [
      isSeen(each.request_end_us) ? svg("circle", { cx: x(each.request_end_us), cy: y + LANE / 2, r: 3.5, fill: colour("card"), stroke: colour("ink") }) : null,
      isSeen(each.first_byte_us) ? svg("rect", { x: x(each.first_byte_us) - 1.5, y: y, width: 3, height: LANE - 1, fill: colour("ink") }) : null,
    ];
    const zoomTo = () => { note(""); shown.zoom(each.start_us, each.end_us); };
    return svg("g", { tabindex: 0, role: "link", onpointermove: (/** @type {PointerEvent} */ event) => note(told, event), onpointerleave: () => note(""), "aria-label": `zoom to stream ${each.stream_id}, ${duration(each.duration_us)}`, onclick: zoomTo, onkeydown: (/** @type {KeyboardEvent} */ pressed) => pressed.key === "Enter" && zoomTo() },
      svg("text", { class: "lane", x: LEFT - 8, y: y + 13, "text-anchor": "end", "font-weight": String(each.stream_id) === shown.stream ? 700 : 400 }, String(each.stream_id)),
      whole_, ...dots, ...parts);
  });
  const bottom = 20 + all.length * LANE;
  const ticks = roundTicks(from, to, TICKS, shown.zero).flatMap((us) => [svg("line", { class: "grid", x1: x(us), x2: x(us), y1: 16, y2: bottom }), svg("text", { class: "tick", x: x(us), y: 12, "text-anchor": x(us) > MIDDLE - END ? "end" : "middle" }, toldIn(us - shown.zero, to - from))]);
  const head = svg("text", { class: "tick", x: SHARES, y: 12 }, "share of its time");
  return svg("svg", { class: "timeline", role: "group", "aria-label": "requests over time; the table below says the same", viewBox: `0 0 ${WIDTH} ${26 + all.length * LANE}` }, ...ticks, head, ...lanes);
}

/** @param {any[]} all */
function legend(all) {
  const seen = new Set(all.flatMap((each) => each.parts.map((/** @type {any} */ part) => part.cause)));
  return el("p", { class: "legend" }, ...[...CAUSES].filter(([cause]) => seen.has(cause)).map(([cause, look]) => el("span", {}, el("i", { class: `cause-${cause}` }), look.name)));
}

/** Which stream has which colour. @param {Series} series */
function key(series) {
  const all = [...new Set(/** @type {number[]} */ (series.frames.stream_id ?? []))].sort((a, b) => a - b);
  const requests = all.filter((id) => id % 4 === 0);
  const named = requests.slice(0, KEYS).map((id) => /** @type {[string, number]} */ ([String(id), id]));
  const others = all.find((id) => id % 4 !== 0);
  if (others !== undefined) named.push(["no request's", others]);
  return el("p", { class: "legend" }, el("span", {}, "stream"), ...named.map(([name, id]) => {
    const dot = el("i");
    dot.style.background = streamColour(id);
    return el("span", {}, dot, name);
  }), requests.length > KEYS ? el("span", {}, `and ${whole(requests.length - KEYS)} more, in the same colours in turn`) : "");
}

/** @param {Series} series @param {import("./connection.js").Shown} shown */
function strip(series, shown) {
  const [from, to] = shown.range;
  const canvas = /** @type {HTMLCanvasElement} */ (el("canvas"));
  const holder = el("div", { class: "canvas" }, canvas);
  requestAnimationFrame(() => {
    const [width, height] = [holder.clientWidth, HEIGHT];
    canvas.width = width * devicePixelRatio;
    canvas.height = height * devicePixelRatio;
    const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    context.scale(devicePixelRatio, devicePixelRatio);
    // Under the waterfall, whose drawing is WIDTH wide.
    const [left, right] = [(LEFT / WIDTH) * width, (MIDDLE / WIDTH) * width];
    const x = (/** @type {number} */ us) => left + ((us - from) / (to - from)) * (right - left);
    context.font = "11px system-ui";
    for (const us of roundTicks(from, to, TICKS, shown.zero)) {
      context.fillStyle = colour("line");
      context.fillRect(x(us), AXIS + 3, 1, height);
      context.fillStyle = colour("quiet");
      context.textAlign = x(us) > right - END ? "end" : "center";
      context.fillText(toldIn(us - shown.zero, to - from), x(us), AXIS - 2);
    }
    const { frames } = series;
    const times = series.exact ? frames.time_us : frames.bucket_start_us;
    (times ?? []).forEach((/** @type {number} */ time, /** @type {number} */ at) => {
      const at_ = Math.floor(frames.stream_id[at] / 4);
      const [isSent, again] = series.exact ? [frames.is_sent[at], frames.is_again[at]] : [frames.bytes_sent[at] > 0, frames.bytes_again[at] > 0];
      const wide = series.exact ? 1.5 : Math.max(1.5, x(from + (series.bucket_us ?? 0)) - left);
      context.fillStyle = streamColour(frames.stream_id[at]);
      context.fillRect(x(time), isSent ? SENT + (at_ % 3) * 6 : RECEIVED, wide, isSent ? 16 : 14);
      if (again) {
        context.fillStyle = colour("ink");
        context.fillRect(x(time), AGAIN, wide, 8);
      }
    });
    context.fillStyle = colour("quiet");
    context.textAlign = "right";
    for (const [text, top] of /** @type {[string, number][]} */ ([["again", AGAIN + 8], ["sent", SENT + 18], ["received", RECEIVED + 11]])) context.fillText(text, left - 8, top);
    canvas.addEventListener("pointermove", (event) => {
      // Stretched, as after the window was made wider, its pixels are not those that it was drawn with.
      const when = from + ((event.offsetX * (width / canvas.clientWidth) - left) / (right - left)) * (to - from);
      const near = nearest(times ?? [], when);
      if (near < 0) return note("");
      note(series.exact ? `stream ${frames.stream_id[near]}: offset ${whole(frames.offset[near])}, ${whole(frames.length[near])} B${frames.is_again[near] ? ", sent again" : ""}\n${duration(frames.time_us[near] - shown.zero)}` : `stream ${frames.stream_id[near]}: ${size(frames.bytes_sent[near])} sent, ${size(frames.bytes_again[near])} again\n${duration(frames.bucket_start_us[near] - shown.zero)}`, event);
    });
    canvas.addEventListener("pointerleave", () => note(""));
  });
  canvas.style.height = `${HEIGHT}px`;
  return holder;
}

/** @param {number[]} times @param {number} when */
function nearest(times, when) {
  let [low, high] = [0, times.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < when) low = middle + 1;
    else high = middle;
  }
  return times.length ? low : -1;
}

/** @type {[string, (row: any) => any, (row: any, zero: number) => string][]} */
const COLUMNS = [
  ["stream", (row) => row.stream_id, (row) => String(row.stream_id)],
  ["request", (row) => `${row.method} ${row.path}`, (row) => `${row.method ?? ""} ${row.path ?? ""}`],
  ["status", (row) => row.status, (row) => String(row.status ?? "")],
  ["start, ms", (row) => row.start_us, (row, zero) => ms(row.start_us - zero)],
  ["duration, ms", (row) => row.duration_us, (row) => ms(row.duration_us)],
  ["first byte after, ms", (row) => firstByte(row), (row) => ms(firstByte(row))],
  ["answer", (row) => row.response_bytes, (row) => size(row.response_bytes)],
  ["throughput", (row) => pace(row), (row) => rate(pace(row))],
  ["lost", (row) => row.packets_lost, (row) => String(row.packets_lost ?? "")],
  ["waited most for", (row) => top(row)?.cause, (row) => CAUSES.get(top(row)?.cause)?.name ?? ""],
];

/** @param {any} row */
const firstByte = (row) => (row.first_byte_us === null ? null : row.first_byte_us - row.start_us);
/** @param {any} row */
const pace = (row) => (row.first_byte_us === null || row.last_byte_us === null || row.last_byte_us <= row.first_byte_us ? null : (row.response_bytes * 8e6) / (row.last_byte_us - row.first_byte_us));
/** @param {any} row */
const top = (row) => row.parts.reduce((/** @type {any} */ best, /** @type {any} */ part) => (best && best.us >= part.us ? best : part), null);

const ROWS = 500;

/** @param {any[]} all @param {number} zero us */
function list(all, zero) {
  const body = el("tbody");
  let [by, down] = [3, false];
  const isNumber = (/** @type {number} */ at) => at === 0 || (at > 2 && at < 9);
  const show = () => {
    const value = COLUMNS[by][1];
    heads.forEach((head, at) => head.setAttribute("aria-sort", at !== by ? "none" : down ? "descending" : "ascending"));
    const sorted = [...all].sort((a, b) => { const [one, two] = [value(a), value(b)]; return (one === two ? 0 : (one ?? -1) < (two ?? -1) ? -1 : 1) * (down ? -1 : 1); });
    fill(body, ...sorted.slice(0, ROWS).map((row) => el("tr", {}, ...COLUMNS.map(([, , told], at) => el("td", { class: isNumber(at) ? "n" : "" }, at === 0 ? el("a", { href: `/requests/${encodeURIComponent(row.connection_id)}/${row.stream_id}` }, told(row, zero)) : told(row, zero))))));
  };
  const heads = COLUMNS.map(([name], at) => el("th", { class: isNumber(at) ? "n" : "" }, el("button", { type: "button", class: "sort", onclick: () => { [by, down] = [at, by === at ? !down : at > 3]; show(); } }, name)));
  show();
  const cut = all.length > ROWS ? [el("p", { class: "note" }, `the first ${ROWS} of ${whole(all.length)} streams in this order are listed`)] : [];
  return el("div", { class: "wide" }, el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body), ...cut);
}
