// @ts-check
// Numbers as people read them; the same rounding as on the command line.

/**
 * @param {number | null | undefined} us
 * @returns {string}
 */
export function duration(us) {
  if (us === null || us === undefined) return "–";
  const size = Math.abs(us);
  if (size < 1_000) return `${us.toFixed(0)} µs`;
  if (size < 9_995) return `${(us / 1e3).toFixed(2)} ms`;
  if (size < 99_950) return `${(us / 1e3).toFixed(1)} ms`;
  if (size < 999_500) return `${(us / 1e3).toFixed(0)} ms`;
  return size < 99_995_000 ? `${(us / 1e6).toFixed(2)} s` : `${whole(us / 1e6)} s`;
}

/** @param {number | null | undefined} us @param {number} [digits] */
export function ms(us, digits = 1) {
  return us === null || us === undefined ? "–" : (us / 1e3).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** How often the whole goes into the part: 0.8, 3.4, 120. @param {number} part @param {number} all */
export function times(part, all) {
  const ratio = part / all;
  return ratio < 9.95 ? ratio.toFixed(1) : whole(ratio);
}

/** @param {number | null | undefined} count */
export function size(count) {
  if (count === null || count === undefined) return "–";
  if (count < 1_000) return `${Math.round(count)} B`;
  for (const [power, unit] of /** @type {[number, string][]} */ ([[1e3, "kB"], [1e6, "MB"], [1e9, "GB"]])) {
    if (count < power * 1_000) return `${(count / power).toFixed(count < power * 100 ? 1 : 0)} ${unit}`;
  }
  return `${(count / 1e12).toFixed(1)} TB`;
}

/** @param {number | null | undefined} value bits a second */
export function rate(value) {
  if (value === null || value === undefined) return "–";
  for (const [power, unit] of /** @type {[number, string][]} */ ([[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"]])) {
    if (value >= power) return `${(value / power).toFixed(value < power * 100 ? 1 : 0)} ${unit}`;
  }
  return `${Math.round(value)} bit/s`;
}

/** @param {number} value */
export function whole(value) {
  return Math.round(value).toLocaleString("en");
}

/** @param {number} share of 1 */
export function percent(share) {
  return share > 0 && share < 0.01 ? `${(share * 100).toFixed(2)} %` : `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

/** @param {string | null} text RFC 3339 */
export function moment(text) {
  return text ? `${text.slice(0, 10)} ${text.slice(11, 19)}` : "undated";
}

/** Whether times of a stretch need no date beside them. @param {string} since RFC 3339, UTC @param {string} until */
export function isOneDay(since, until) {
  return since.slice(0, 10) === until.slice(0, 10);
}

/** How long ago it is: 40 s, 12 min, 21 h, 3 d. @param {string} text RFC 3339 */
export function age(text) {
  const seconds = Math.floor((Date.now() - Date.parse(text)) / 1_000);
  for (const [length, unit] of /** @type {[number, string][]} */ ([[86_400, "d"], [3_600, "h"], [60, "min"]])) {
    if (seconds >= 2 * length) return `${whole(Math.floor(seconds / length))} ${unit} ago`;
  }
  return seconds < 0 ? "still to come" : `${seconds} s ago`;
}

/**
 * An event's name without its namespace (`quic:packet_sent`); names without one, as QUIC_TRACE's, as they are.
 * @param {string} name
 */
export function shortName(name) {
  return name.slice(name.indexOf(":") + 1) || name;
}

/** Text that has no room for all of it says that it is cut. @param {string} text @param {number} most */
export function short(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
