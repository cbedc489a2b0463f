// @ts-check
// Congestion: what was sent, acknowledged and lost; the window and what was in flight; round trips; throughput.

import { ask } from "./api.js";
import { CAUSES } from "./causes.js";
import { draw } from "./chart.js";
import { colour, el, fill } from "./dom.js";
import { duration, rate, size, whole } from "./format.js";
import { shade } from "./shade.js";
import { change, state } from "./state.js";
import { toldIn } from "./ticks.js";

/** @typedef {import("./answers.js").Series} Series */

// Episodes whose colours lie under the window's chart.
const BANDS = ["cwnd_blocked", "bandwidth", "pacing", "connection_flow_control", "stream_flow_control", "stream_limit", "amplification", "recovery", "pto"];
const GROUP = "connection";

/** @param {HTMLElement} place @param {import("./connection.js").Shown} shown */
export async function congestion(place, shown) {
  const [from_us, to_us] = shown.range;
  const asked = { ...shown.trace, from_us, to_us };
  const [series, stops] = await Promise.all([ask(`${shown.path}/series`, asked, shown.signal), ask(`${shown.path}/episodes`, { ...asked, kind: BANDS }, shown.signal)]);
  const places = ["bytes", "window", "round trips", "throughput"].map(() => el("div", { class: "chart" }));
  const titles = [
    ["Bytes", "sent, acknowledged and lost, cumulated from the log's beginning; the peer's credit"],
    ["Window", "congestion window and bytes in flight; bands are what stopped the sender"],
    ["Round trips", "as measured at each acknowledgement"],
    ["Throughput", "packets sent and received, and stream data that was new"],
  ];
  const fromZero = /** @type {HTMLInputElement} */ (el("input", { type: "checkbox", checked: state().get("rtt_from_zero") === "1" }));
  const beside = ["", legend(stops, series), el("label", { class: "note" }, fromZero, " from 0"), ""];
  fill(place, exactness(series), ...places.map((chart, at) => el("section", { class: "card" }, el("h2", {}, titles[at][0], " ", el("small", {}, titles[at][1])), chart, beside[at])));
  const shaded = (/** @type {any} */ plot) => shade(plot, shown.request);
  const common = { toldX: (/** @type {number} */ us) => toldIn(us - shown.zero, to_us - from_us), zero: shown.zero, group: GROUP, zoomed: shown.zoom, range: shown.range, under: shaded };
  const marked = (/** @type {any} */ plot) => marks(plot, series.marks);
  const pick = (/** @type {number} */ x) => shown.go("log", { at_us: Math.round(x) });
  draw(places[0], { ...common, ...bytes(series), y: { told: size }, name: "bytes", height: 260, over: marked, clicked: pick });
  draw(places[1], { ...common, ...metrics(series, [["congestion window", "congestion_window", colour("window"), "step"], ["in flight", "bytes_in_flight", colour("flight"), "line"], ["ssthresh", "ssthresh", colour("quiet"), "step"]]), y: { told: size }, name: "window", under: (plot) => { shaded(plot); bands(plot, stops.episodes); }, over: marked, clicked: pick });
  const rtt = metrics(series, [["latest", "latest_rtt_us", colour("rtt"), "points"], ["smoothed", "smoothed_rtt_us", colour("sent"), "line"], ["least", "min_rtt_us", colour("acked"), "step"]]);
  const drawRtt = () => draw(places[2], { ...common, ...rtt, y: { told: duration, least: fromZero.checked ? 0 : beneath(rtt.lines) }, name: "rtt", over: marked, clicked: pick });
  drawRtt();
  fromZero.addEventListener("change", () => {
    change({ rtt_from_zero: fromZero.checked ? "1" : null }, false);
    drawRtt();
  });
  draw(places[3], { ...common, ...throughput(series, shown.range), y: { told: rate }, name: "throughput", height: 180, clicked: pick });
}

/** Where an axis begins that shows differences: a little under the least value. @param {import("./chart.js").Line[]} lines */
function beneath(lines) {
  const values = lines.flatMap((line) => line.values.filter((value) => value !== null));
  const [least, most] = values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, 0]);
  return values.length ? Math.max(0, least - (most - least) / 10) : 0;
}

/** @param {Series} series */
function exactness(series) {
  return el("p", { class: "note" }, series.exact ? `${whole(series.events)} events, every one of them is drawn.`
    : `${whole(series.events)} events in buckets of ${duration(series.bucket_us)}: least, greatest and last value of each; losses and changes of state one by one. Zoom in (drag) to 50,000 events or fewer to see each.`);
}

/** Columns over one time axis. @param {Map<number, (number | null)[]>} rows @param {number} width */
function table(rows, width) {
  const x = [...rows.keys()].sort((a, b) => a - b);
  return { x, columns: Array.from({ length: width }, (_, at) => x.map((time) => rows.get(time)?.[at] ?? null)) };
}

/** @param {Series} series */
function bytes(series) {
  /** @type {Map<number, (number | null)[]>} */
  const rows = new Map();
  const put = (/** @type {number} */ time, /** @type {number} */ column, /** @type {number} */ value) => {
    const row = rows.get(time) ?? [null, null, null, null];
    row[column] = Math.max(row[column] ?? 0, value);
    rows.set(time, row);
  };
  if (series.exact) exactBytes(series, put);
  else bucketBytes(series, put);
  credit(series, put);
  const { x, columns } = table(rows, 4);
  /** @type {import("./chart.js").Line[]} */
  const lines = [
    { label: "sent", colour: colour("sent"), values: columns[0], drawn: "step" },
    { label: "acknowledged", colour: colour("acked"), values: columns[1], drawn: "step" },
    { label: "lost", colour: colour("lost"), values: columns[2], drawn: "points" },
    { label: "connection credit", colour: colour("credit"), values: columns[3], drawn: "step", hidden: true },
  ];
  return { x, lines };
}

/** @param {Series} series @param {(time: number, column: number, value: number) => void} put */
function exactBytes(series, put) {
  let sum = series.bytes_sent_before;
  /** @type {Map<string, number>} */
  const after = new Map();
  const { time_us = [], is_sent, packet_type, packet_number, bytes: sizes, acked } = series.packets;
  let best = 0;
  time_us.forEach((/** @type {number} */ time, /** @type {number} */ at) => {
    if (is_sent[at]) {
      sum += sizes[at];
      after.set(`${packet_type[at]}/${packet_number[at]}`, sum);
      put(time, 0, sum);
    } else {
      for (const [, last] of acked[at]) best = Math.max(best, after.get(`${packet_type[at]}/${last}`) ?? 0);
      if (acked[at].length && best) put(time, 1, best);
    }
  });
  const { time_us: times = [], name, packet_type: types, packet_number: numbers } = series.marks;
  times.forEach((/** @type {number} */ time, /** @type {number} */ at) => {
    const known = name[at] === "quic:packet_lost" && (after.get(`${types[at]}/${numbers[at]}`) ?? after.get(`1RTT/${numbers[at]}`));
    if (known) put(time, 2, known);
  });
}

/** @param {Series} series @param {(time: number, column: number, value: number) => void} put */
function bucketBytes(series, put) {
  let sum = series.bytes_sent_before;
  /** @type {[number, number][]} */
  const after = [];
  const { bucket_start_us: starts = [], bytes_sent, last_sent, last_acked } = series.packets;
  /** @param {number} number */
  const upTo = (number) => {
    let [low, high] = [0, after.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (after[middle][0] < number) low = middle + 1;
      else high = middle;
    }
    return after[low]?.[1] ?? 0;
  };
  starts.forEach((/** @type {number} */ start, /** @type {number} */ at) => {
    sum += bytes_sent[at];
    if (last_sent?.[at]) after.push([last_sent[at], sum]);
    put(start, 0, sum);
    if (last_acked?.[at]) put(start, 1, upTo(last_acked[at]));
  });
  const { time_us = [], name, packet_number } = series.marks;
  time_us.forEach((/** @type {number} */ time, /** @type {number} */ at) => {
    if (name[at] === "quic:packet_lost" && packet_number?.[at]) put(time, 2, upTo(packet_number[at]));
  });
}

/** The peer's limit on the connection. @param {Series} series @param {(time: number, column: number, value: number) => void} put */
function credit(series, put) {
  const { time_us = [], is_ours, limit_name, maximum } = series.limits;
  time_us.forEach((/** @type {number} */ time, /** @type {number} */ at) => {
    if (!is_ours[at] && ["max_data", "initial_max_data"].includes(limit_name[at]) && maximum[at]) put(time, 3, maximum[at]);
  });
}

/** @param {Series} series @param {[string, string, string, "line" | "step" | "points"][]} wanted */
function metrics(series, wanted) {
  const has = wanted.filter(([, name]) => series.metrics[name]?.some((/** @type {any} */ value) => (Array.isArray(value) ? value[2] !== null : value !== null)));
  if (series.exact) {
    return { x: series.metrics.time_us ?? [], lines: has.map(([label, name, paint, drawn]) => ({ label, colour: paint, values: carried(series.metrics[name], drawn), drawn })) };
  }
  const starts = series.metrics.bucket_start_us ?? [];
  const third = (series.bucket_us ?? 0) / 3;
  const x = starts.flatMap((start) => [start, start + third, start + 2 * third]);
  return { x, lines: has.map(([label, name, paint, drawn]) => ({ label, colour: paint, values: series.metrics[name].flat(), drawn })) };
}

/** A value lasts until the next one. @param {(number | null)[]} values @param {string} drawn */
function carried(values, drawn) {
  let last = /** @type {number | null} */ (null);
  return drawn === "points" ? values : values.map((value) => (last = value ?? last));
}

const STEPS = 120; // of throughput, at most

/** @param {Series} series @param {[number, number]} range */
function throughput(series, range) {
  // Steps of whole buckets, where there are buckets: else some would have one more than others.
  const least = Math.max(1, (range[1] - range[0]) / STEPS);
  const step = series.exact || !series.bucket_us ? least : Math.ceil(least / series.bucket_us) * series.bucket_us;
  const steps = Math.max(1, Math.ceil((range[1] - range[0]) / step));
  const sums = [0, 1, 2].map(() => /** @type {number[]} */ (Array(steps).fill(0)));
  const add = (/** @type {number} */ column, /** @type {number} */ time, /** @type {number} */ bytes_) => {
    const at = Math.min(steps - 1, Math.max(0, Math.floor((time - range[0]) / step)));
    sums[column][at] += bytes_;
  };
  const { packets, frames } = series;
  if (series.exact) {
    (packets.time_us ?? []).forEach((/** @type {number} */ time, /** @type {number} */ at) => add(packets.is_sent[at] ? 0 : 1, time, packets.bytes[at]));
    (frames.time_us ?? []).forEach((/** @type {number} */ time, /** @type {number} */ at) => frames.is_sent[at] && !frames.is_again[at] && add(2, time, frames.length[at]));
  } else {
    (packets.bucket_start_us ?? []).forEach((/** @type {number} */ time, /** @type {number} */ at) => { add(0, time, packets.bytes_sent[at]); add(1, time, packets.bytes_received[at]); });
    (frames.bucket_start_us ?? []).forEach((/** @type {number} */ time, /** @type {number} */ at) => add(2, time, Math.max(0, frames.bytes_sent[at] - frames.bytes_again[at])));
  }
  const x = sums[0].map((_, at) => range[0] + at * step);
  const rates = sums.map((column) => column.map((bytes_) => (bytes_ * 8e6) / step));
  return { x, lines: [
    { label: "sent", colour: colour("sent"), values: rates[0], drawn: /** @type {const} */ ("step") },
    { label: "received", colour: colour("received"), values: rates[1], drawn: /** @type {const} */ ("step") },
    { label: "new stream data sent", colour: colour("acked"), values: rates[2], drawn: /** @type {const} */ ("step") },
  ] };
}

/** @param {any} plot @param {any[]} episodes */
function bands(plot, episodes) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.globalAlpha = Number(colour("band"));
  for (const each of episodes) {
    const [left, right] = [plot.valToPos(each.start_us, "x", true), plot.valToPos(each.end_us, "x", true)];
    ctx.fillStyle = each.kind === "recovery" ? hatched(ctx) : colour(`cause-${each.kind}`);
    ctx.fillRect(left, bbox.top, Math.max(1, right - left), bbox.height);
  }
  ctx.restore();
}

/** Hatching, which is no cause's colour. @param {CanvasRenderingContext2D} ctx */
function hatched(ctx) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d");
  if (!pen) return colour("quiet");
  pen.strokeStyle = colour("ink");
  pen.lineWidth = 1.5;
  for (const at of [-8, 0, 8]) {
    pen.moveTo(at, 8);
    pen.lineTo(at + 8, 0);
  }
  pen.stroke();
  return ctx.createPattern(tile, "repeat") ?? colour("quiet");
}

/** @param {any} plot @param {import("./documents.js").MarkColumns} found */
function marks(plot, found) {
  const { ctx, bbox } = plot;
  const painted = new Map([["quic:packet_lost", colour("lost")], ["quic:congestion_state_updated", colour("quiet")], ["quic:migration_state_updated", colour("received")], ["quic:spurious_loss", colour("credit")]]);
  ctx.save();
  (found.time_us ?? []).forEach((/** @type {number} */ time, /** @type {number} */ at) => {
    const stroke = painted.get(found.name?.[at] ?? "");
    if (!stroke) return;
    const x = plot.valToPos(time, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) return;
    ctx.strokeStyle = stroke;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top + bbox.height);
    ctx.lineTo(x, bbox.top + bbox.height - 9 * devicePixelRatio);
    ctx.stroke();
  });
  ctx.restore();
}

/** @param {import("./documents.js").EpisodesDocument} stops @param {Series} series */
function legend(stops, series) {
  const kinds = BANDS.filter((kind) => stops.episodes.some((/** @type {any} */ each) => each.kind === kind));
  const cut = series.marks_cut ? "; of losses and changes only the first are drawn: choose a shorter stretch" : "";
  return el("div", { class: "legend" }, ...kinds.map((kind) => el("span", {}, el("i", { class: kind === "recovery" ? "hatched" : `cause-${kind}` }), kind === "recovery" ? "recovery period" : CAUSES.get(kind)?.name ?? kind)),
    el("span", {}, `ticks at the bottom: ${whole(series.losses)} losses (red), changes of congestion state (grey)${cut}`));
}
