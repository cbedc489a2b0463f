// Which of the fields that qvis draws from an export has, by how often.

const RS = "\x1e";

/** Reads JSON-SEQ; a record that is no JSON is an error here, because qvis waits for ever on one. */
export function read(text) {
  const [before, ...records] = text.split(RS);
  if (before.trim()) throw new Error("the export does not start with a record separator");
  const [header, ...events] = records.map((record, index) => {
    try {
      return JSON.parse(record);
    } catch (error) {
      throw new Error(`record ${index} of the export: ${error.message}`);
    }
  });
  if (!header?.qlog_version) throw new Error("the export has no header");
  return { header, events };
}

const isLimit = (data) => data.owner === "remote" && (data.initial_max_data || data.initial_max_stream_data_bidi_remote);
const isData = (frame) => frame.frame_type === "stream" && Number(frame.stream_id) % 4 === 0;

/** Counts; the keys are those of `needs` in views.mjs. */
export function tally({ header, events }) {
  const isServer = header.trace.vantage_point.type === "server";
  const [requests, responses] = isServer ? ["packet_received", "packet_sent"] : ["packet_sent", "packet_received"];
  const has = {};
  const add = (key, truth) => (has[key] = (has[key] ?? 0) + (truth ? 1 : 0));
  const asked = new Set();
  const answered = new Set();
  for (const { name, data = {} } of events) {
    const [category, kind] = [name.slice(0, name.indexOf(":")), name.slice(name.indexOf(":") + 1)];
    const frames = data.frames ?? [];
    add("events", true);
    if (category === "transport" && (kind === "packet_sent" || kind === "packet_received")) {
      const size = data.raw?.length;
      add("packets", true);
      add(`packets_${kind.slice("packet_".length)}`, true);
      add("packets_sized", size);
      add("packets_framed", size && frames.length);
      add("packets_numbered", data.header?.packet_type && data.header.packet_number !== undefined);
      add("packets_sent_sized", kind === "packet_sent" && size);
      add("acknowledgments", kind === "packet_received" && frames.some((frame) => frame.acked_ranges?.length));
      add("limits", kind === "packet_received" && frames.some((frame) => /^max_(stream_)?data$/.test(frame.frame_type)));
      for (const frame of frames) {
        add("frames", true);
        add("stream_frames", frame.frame_type === "stream");
        if (!isData(frame)) continue;
        add("data_frames", true);
        if (kind === requests) asked.add(frame.stream_id);
        if (kind !== responses) continue;
        if (asked.has(frame.stream_id)) answered.add(frame.stream_id);
        add("response_frames", true);
        add("response_frames_placed", frame.length !== undefined && frame.offset !== undefined);
      }
    } else if (name === "recovery:packet_lost") {
      add("losses", true);
      add("losses_numbered", data.header?.packet_type && data.header.packet_number !== undefined);
    } else if (name === "recovery:metrics_updated") {
      add("metrics", true);
      add("congestion_windows", data.congestion_window ?? data.cwnd);
      add("bytes_in_flight", data.bytes_in_flight);
      add("rtts", data.smoothed_rtt || data.latest_rtt || data.min_rtt);
    } else if (name === "transport:parameters_set") {
      add("limits", isLimit(data));
    } else if (category === "http" && /^frame_(created|parsed)$/.test(kind)) {
      add("http_frames", true);
      add("http_frames_sized", data.byte_length && data.stream_id !== undefined);
    }
  }
  has.waterfall = answered.size > 1 && has.response_frames >= 5 ? answered.size : 0;
  return has;
}
