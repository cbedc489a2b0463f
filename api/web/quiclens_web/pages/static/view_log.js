// @ts-check
// The event log: every event, searched by text, name, stream and packet number; page after page as one scrolls.

import { ask } from "./api.js";
import { el, fill } from "./dom.js";
import { duration, ms, short, shortName, size, whole } from "./format.js";
import { state } from "./state.js";

const PAGE = 300;
/** Name, label, hint, what the browser lets pass, and what it says of the rest. @type {[string, string, string, string | null, string][]} */
const FIELDS = [["text", "text", "packet lost, recovery, max_data …", null, ""], ["name", "event", "packet_sent", null, ""], ["stream", "stream", "4", "[0-9]+", "the number of a stream"], ["packet", "packet", "17", "[0-9]+", "the number of a packet"]];
const WAYS = [["", "sent or received"], ["sent", "sent"], ["received", "received"]];

/** @param {HTMLElement} place @param {import("./connection.js").Shown} shown */
export async function eventLog(place, shown) {
  const now = state();
  const [from, to] = shown.range;
  const body = el("tbody");
  const told = el("p", { class: "note" });
  const inputs = FIELDS.map(([name, label, hint, pattern, title]) => el("label", {}, `${label} `, el("input", { name, value: now.get(name) ?? "", placeholder: hint, pattern, title: title || null, list: name === "name" ? "event-names" : null, size: name === "text" ? 26 : 12, spellcheck: "false" })));
  const way = el("select", { name: "way", "aria-label": "direction" }, ...WAYS.map(([value, label]) => el("option", { value, selected: value === (now.get("way") ?? "") }, label)));
  const names = el("datalist", { id: "event-names" });
  const form = el("form", { class: "tools" }, ...inputs, way, names, el("button", {}, "Search"));
  form.addEventListener("focusin", () => suggest(names, shown).catch(() => names.replaceChildren()), { once: true });
  const start = shown.request?.start_us;
  const columns = /** @type {[string, string, string][]} */ ([["seq", "n", "70"], ["ms of the trace", "n", "120"], ...(start === undefined ? [] : [["ms of the request", "n", "150"]]), ["event", "", "190"], ["packet", "n", "80"], ["what it says", "", "auto"]]);
  const box = el("div", { class: "log", tabindex: "0" }, el("table", { class: "events" }, el("thead", {}, el("tr", {}, ...columns.map(([name, kind, width]) => el("th", { class: kind, width }, name)))), body));
  fill(place, form, told, box);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const fields = [...new FormData(/** @type {HTMLFormElement} */ (form))].map(([name, value]) => [name, String(value)]);
    shown.go("log", { ...Object.fromEntries(fields), at_us: null });
  });
  const asked = {
    ...shown.trace,
    from_us: Math.max(from, Number(now.get("at_us") ?? from)),
    to_us: to,
    text: now.get("text"),
    name: now.get("name"),
    way: now.get("way"),
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
    const found = await ask(`${shown.path}/events`, { ...asked, first_seq: next }, shown.signal).finally(() => { isAsking = false; });
    next = found.next_seq;
    count += found.events.length;
    body.append(...found.events.map((event) => row(event, start)));
    told.textContent = count ? `${next === null ? "" : "The first "}${whole(count)} events from ${duration(asked.from_us - shown.zero)} to ${duration(to - shown.zero)}${next === null ? "" : "; scroll down for more"}.` : "No event in this stretch fits.";
  };
  box.addEventListener("scroll", () => {
    if (box.scrollTop + box.clientHeight > box.scrollHeight - 600) more().catch((error) => fill(told, String(error)));
  });
  await more();
}

/** Offers the names of the trace's events, each with how often it stands there. @param {HTMLElement} place @param {import("./connection.js").Shown} shown */
async function suggest(place, shown) {
  const { counts } = await ask(`${shown.path}/counts`, shown.trace, shown.signal);
  fill(place, ...counts.filter(({ kind }) => kind === "event").map(({ name, count }) => el("option", { value: name }, `${whole(count)} of them`)));
}

/** @param {any} event @param {number | undefined} start of the request that is looked at */
function row(event, start) {
  const made = el("tr", { tabindex: "0", class: shortName(event.name), title: "all of it: click or Enter", onclick: () => open(), onkeydown: (/** @type {KeyboardEvent} */ key) => key.key === "Enter" && open() },
    el("td", { class: "n" }, event.seq), el("td", { class: "n" }, ms(event.time_us, 3)), start === undefined ? null : el("td", { class: "n" }, ms(event.time_us - start, 3)), el("td", {}, shortName(event.name).replaceAll("_", " ")), el("td", { class: "n" }, event.packet_number), el("td", {}, says(event)));
  const open = () => {
    const isOpen = made.getAttribute("aria-selected") === "true";
    made.setAttribute("aria-selected", String(!isOpen));
    if (isOpen) made.nextElementSibling?.remove();
    else made.after(el("tr", { class: "all" }, el("td", { colspan: start === undefined ? "5" : "6" }, el("pre", { class: "event" }, JSON.stringify(event, null, 2)))));
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
  if (event.more) words.push(...Object.entries(event.more).slice(0, 6).map(([name, value]) => `${name}=${short(String(value), 60)}`));
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
