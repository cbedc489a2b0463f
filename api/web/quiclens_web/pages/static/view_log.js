// @ts-check
// The event log: every event, searched by text, name, stream and packet number; page after page as one scrolls.

import { ask } from "./api.js";
import { el, fill } from "./dom.js";
import { duration, ms, shortName, size, whole } from "./format.js";
import { change, state } from "./state.js";

const PAGE = 300;
const FIELDS = /** @type {[string, string, string][]} */ ([["text", "text", "lost, recovery, max_data …"], ["name", "event", "quic:packet_sent"], ["stream", "stream", "4"], ["packet", "packet", "17"]]);

/** @param {HTMLElement} place @param {import("./connection.js").Shown} shown */
export async function eventLog(place, shown) {
  const now = state();
  const [from, to] = shown.range;
  const body = el("tbody");
  const told = el("p", { class: "note" });
  const inputs = FIELDS.map(([name, label, hint]) => el("label", {}, `${label} `, el("input", { name, value: now.get(name) ?? "", placeholder: hint, size: name === "text" ? 26 : 12, spellcheck: "false" })));
  const form = el("form", { class: "tools" }, ...inputs, el("button", {}, "Search"));
  const box = el("div", { class: "log", tabindex: "0" }, el("table", { class: "events" }, el("thead", {}, el("tr", {}, ...["seq", "ms of the trace", "event", "packet", "what it says"].map((name, at) => el("th", { class: at < 2 || at === 3 ? "n" : "", width: ["70", "120", "190", "80", "auto"][at] }, name)))), body));
  fill(place, form, told, box);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    change({ ...Object.fromEntries(new FormData(/** @type {HTMLFormElement} */ (form)).entries()), at_us: null });
    eventLog(place, shown).catch((error) => fill(told, String(error)));
  });
  const asked = {
    ...shown.trace,
    from_us: Math.max(from, Number(now.get("at_us") ?? from)),
    to_us: to,
    text: now.get("text"),
    name: now.get("name"),
    stream_id: now.get("stream"),
    packet_number: now.get("packet"),
    limit: PAGE,
  };
  /** @type {number | null} */
  let next = 0;
  let [count, isAsking] = [0, false];
  const more = async () => {
    if (next === null || isAsking) return;
    isAsking = true;
    const found = await ask(`${shown.path}/events`, { ...asked, first_seq: next }, shown.signal);
    next = found.next_seq;
    count += found.events.length;
    body.append(...found.events.map(row));
    told.textContent = count ? `${whole(count)}${next === null ? "" : " and more"} events from ${duration(asked.from_us)} to ${duration(to)}` : "No event in this stretch fits.";
    isAsking = false;
  };
  box.addEventListener("scroll", () => {
    if (box.scrollTop + box.clientHeight > box.scrollHeight - 600) more().catch((error) => fill(told, String(error)));
  });
  await more();
}

/** @param {any} event */
function row(event) {
  const made = el("tr", { tabindex: "0", class: shortName(event.name), title: "all of it: click or Enter", onclick: () => open(), onkeydown: (/** @type {KeyboardEvent} */ key) => key.key === "Enter" && open() },
    el("td", { class: "n" }, event.seq), el("td", { class: "n" }, ms(event.time_us, 3)), el("td", {}, shortName(event.name).replaceAll("_", " ")), el("td", { class: "n" }, event.packet_number), el("td", {}, says(event)));
  const open = () => {
    const isOpen = made.getAttribute("aria-selected") === "true";
    made.setAttribute("aria-selected", String(!isOpen));
    if (isOpen) made.nextElementSibling?.remove();
    else made.after(el("tr", { class: "all" }, el("td", { colspan: "5" }, el("pre", { class: "event" }, JSON.stringify(event, null, 2)))));
  };
  return made;
}

/** @param {any} event @returns {string} */
export function says(event) {
  const words = [event.packet_type, event.packet_bytes && size(event.packet_bytes), event.new_state && (event.old_state ? `${event.old_state} → ${event.new_state}` : `→ ${event.new_state}`), event.trigger, event.timer_type, event.event_type, event.owner, event.http_frame_type];
  if (event.congestion_window !== undefined) words.push(`window ${size(event.congestion_window)}`);
  if (event.bytes_in_flight !== undefined) words.push(`in flight ${size(event.bytes_in_flight)}`);
  if (event.smoothed_rtt_us !== undefined) words.push(`RTT ${duration(event.smoothed_rtt_us)}`);
  if (event.latest_rtt_us !== undefined) words.push(`latest ${duration(event.latest_rtt_us)}`);
  const frames = event.frames ?? [];
  words.push(...frames.slice(0, 8).map((/** @type {any} */ frame) => chip(frame, event)));
  if (frames.length > 8) words.push(`and ${frames.length - 8} frames more`);
  const carried = (event.carried ?? []).filter((/** @type {any} */ frame) => !["ack", "padding", "ping"].includes(frame.frame_type));
  if (carried.length) words.push(`carried ${carried.map((/** @type {any} */ frame) => chip(frame, event)).join(" ")}`);
  if (event.more) words.push(...Object.entries(event.more).slice(0, 6).map(([name, value]) => `${name}=${String(value).slice(0, 60)}`));
  return words.filter(Boolean).join("  ");
}

/** @param {any} frame @param {any} event */
function chip(frame, event) {
  if (frame.frame_type === "stream") return `stream ${frame.stream_id} [${frame.offset}, +${frame.length}]${frame.fin ? " FIN" : ""}`;
  if (frame.frame_type === "ack") return `ack ${ranges(event.acked ?? [])}`;
  return frame.stream_id === undefined ? frame.frame_type : `${frame.frame_type} of ${frame.stream_id}`;
}

/** The newest ranges first, the rest counted. @param {[number, number][]} acked */
function ranges(acked) {
  const shown = acked.slice(0, 3).map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`)).join(" ");
  return acked.length > 3 ? `${shown} and ${acked.length - 3} ranges more` : shown;
}
