// @ts-check
// What the views of packets share: a packet's name among all of a trace, and what kinds of frames there are.

/** A loss that does not say its packet's type is of 1-RTT. @param {any} event @returns {string} */
export function packetName(event) {
  return `${event.packet_type || "1RTT"}/${event.path_id ?? 0}/${event.packet_number}`;
}

/** A kind of frame: its name, its colour (as far apart as eyes can tell, none of them the red of a loss), its frame types. @type {[string, string, string[]][]} */
export const FRAME_KINDS = [
  ["stream data", "#2e6fd8", ["stream"]],
  ["acknowledgement", "#2fa84f", ["ack"]],
  ["handshake", "#b99b1c", ["crypto", "new_token", "handshake_done"]],
  ["credit, blocked", "#e07b1a", ["max_data", "max_stream_data", "max_streams", "data_blocked", "stream_data_blocked", "streams_blocked"]],
  ["reset, close", "#c23bb1", ["reset_stream", "reset_stream_at", "stop_sending", "connection_close"]],
  ["connection IDs, paths", "#1f9aa0", ["new_connection_id", "retire_connection_id", "path_challenge", "path_response"]],
  ["datagram", "#8b6fd6", ["datagram"]],
  ["padding, ping", "#b9bfc8", ["padding", "ping"]],
];
const OTHER = /** @type {[string, string, string[]]} */ (["other", "#6b7280", []]);

/** @param {string} frameType */
export function frameKind(frameType) {
  return FRAME_KINDS.find(([, , types]) => types.includes(frameType)) ?? OTHER;
}
