// The five views of qvis: where each is, what it drew, and which fields of an export it draws that from.
// Source: quiclog/qvis at 72c8c4b. The first part of a view is what it is for; without it the view counts as empty.

// Runs in the page before qvis: counts what is drawn on canvases by colour and what qvis says to the console. qvis prints
// whole files and a line for each packet, which would take longer to carry here than to draw.
export function watch() {
  window.painted = {};
  window.said = { thrown: [], remarks: {} };
  console.log = console.warn = console.debug = () => {};
  console.error = (...words) => {
    const error = words.find((word) => word instanceof Error); // Vue catches what a component throws and says it
    if (error) return void window.said.thrown.push(String(error.stack));
    const remark = String(words[0]).replace(/ *\(http[^)]*\)?\S*/g, "").slice(0, 90);
    window.said.remarks[remark] = (window.said.remarks[remark] ?? 0) + 1;
  };
  for (const [act, colour] of [["fill", "fillStyle"], ["stroke", "strokeStyle"]]) {
    const real = CanvasRenderingContext2D.prototype[act];
    CanvasRenderingContext2D.prototype[act] = function (...words) {
      const key = `${act} ${this[colour]}`;
      window.painted[key] = (window.painted[key] ?? 0) + 1;
      return real.apply(this, words);
    };
  }
}

// These run in the page and say how many marks each part of the view has.
function sequence() {
  const sound = (mark) => !/NaN/.test(mark.outerHTML.split(">")[0]);
  const count = (selector) => [...document.querySelectorAll(`#sequence-diagram-svg ${selector}`)].filter(sound).length;
  return { arrows: count("polyline"), events: count("g > rect"), labels: count("foreignObject") };
}

function congestion() {
  const inked = (selector) => {
    const canvas = document.querySelector(`${selector} canvas`);
    if (!canvas?.width || !canvas.height) return false;
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    for (let at = 3; at < pixels.length; at += 4) if (pixels[at]) return true;
    return false;
  };
  const [main, below] = [inked("#mainGraphContainer"), inked("#recoveryGraphContainer")];
  const drawn = (there, ...keys) => (there ? keys.reduce((sum, key) => sum + (window.painted[key] ?? 0), 0) : 0);
  return {
    sent: drawn(main, "fill #0000ff"),
    acknowledged: drawn(main, "fill #6b8e23"),
    lost: drawn(main, "fill #ff0000"),
    congestion_window: drawn(main, "stroke #8a2be2"),
    bytes_in_flight: drawn(main, "stroke #808000"),
    flow_control: drawn(main, "stroke #a80f3a", "stroke #ff69b4"),
    rtt: drawn(below, "stroke #c96480", "stroke #8a554a", "stroke #ff9900"),
  };
}

function multiplexing() {
  const sound = (rect) => rect.width.baseVal.value > 0 && !/NaN/.test(rect.getAttribute("width"));
  const count = (selector) => [...document.querySelectorAll(selector)].filter(sound).length;
  return {
    stream_frames: count("[id^=multiplexing-data-] rect.packet"),
    waterfall: count("[id^=multiplexing-waterfall-] rect.packet"),
  };
}

function packetization() {
  const sound = (rect) => !/NaN/.test(rect.getAttribute("x") + rect.getAttribute("width"));
  const count = (kind) => [...document.querySelectorAll(`[id^=packetization-diagram-] rect.${kind}`)].filter(sound).length;
  return { packets: count("quicpacket"), frames: count("quicframe"), http3: count("httpframe"), streams: count("streampacket") };
}

function statistics() {
  const rows = [...document.querySelectorAll("#statistics-container tr")];
  const value = (name) => Number(rows.find((row) => row.cells[0]?.innerText.trim() === name)?.cells[1]?.innerText) || 0;
  return { events: value("Event count"), frames: value("Frame count"), packet_types: value("Encryption level count") };
}

// What a part is drawn from: [part, [what fields.mjs counts, in words], …], from the event to the field in it.
const packets = ["packets", "packet_sent or packet_received"];
const framed = [packets, ["packets_sized", "raw.length of packets"], ["packets_framed", "frames of packets that have raw.length"]];
const numbered = [packets, ["packets_numbered", "packet_type and packet_number of packets"]];
const metrics = ["metrics", "metrics_updated"];
const http = [["http_frames", "http frame_created or frame_parsed"], ["http_frames_sized", "byte_length and stream_id of http frames"]];
const data = [
  ["stream_frames", "stream frames"],
  ["data_frames", "stream frames of client bidirectional streams"],
  ["response_frames", "stream frames of client bidirectional streams in the direction of responses"],
  ["response_frames_placed", "offset and length of stream frames"],
];
const needs = {
  sequence: [["arrows", ...numbered]],
  congestion: [
    ["sent", ["packets_sent", "packet_sent"], ["packets_sent_sized", "raw.length of packet_sent"]],
    ["acknowledged", ["packets_received", "packet_received"], ["acknowledgments", "acked_ranges in packet_received"]],
    ["lost", ["losses", "packet_lost"], ["losses_numbered", "packet_type and packet_number of packet_lost"]],
    ["congestion_window", metrics, ["congestion_windows", "congestion_window of metrics_updated"]],
    ["bytes_in_flight", metrics, ["bytes_in_flight", "bytes_in_flight above 0 of metrics_updated"]],
    ["flow_control", ["limits", "limits of the peer: parameters_set, max_data or max_stream_data"]],
    ["rtt", metrics, ["rtts", "a round-trip time of metrics_updated"]],
  ],
  multiplexing: [
    ["stream_frames", ...data],
    ["waterfall", ...data, ["waterfall", "two streams whose request stands before the response, and five frames"]],
  ],
  packetization: [["packets", ...framed], ["frames", ...framed], ["http3", ...http], ["streams", ...http]],
  statistics: [["events", ["events", "events"]], ["frames", packets, ["frames", "frames of packets"]], ["packet_types", ...numbered]],
};

// packetization is last: it writes into the events that the others read.
export const views = [
  { name: "sequence", route: "sequence", marks: sequence },
  { name: "congestion", route: "congestion", marks: congestion },
  { name: "multiplexing", route: "multiplexing", marks: multiplexing },
  { name: "statistics", route: "stats", marks: statistics },
  { name: "packetization", route: "packetization", marks: packetization },
];

/** Why parts of a view are empty: `lacks` is the first field that the export has nowhere; null when it has all of them. */
export function missing(view, parts, has) {
  return needs[view]
    .filter(([part]) => !parts[part])
    .map(([part, ...fields]) => ({ part, lacks: fields.find(([key]) => !has[key])?.[1] ?? null }));
}
