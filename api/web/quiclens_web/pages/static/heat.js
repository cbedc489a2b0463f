// @ts-check
// A heat map on a canvas: durations (log) over time, a box to select, by pointer or by keys.

import { colour, fill, el, note } from "./dom.js";
import { duration, isOneDay, moment, whole } from "./format.js";

const LEFT = 70;
const BOTTOM = 22;
const ROOM = 18; // pixels from one label of the axis to the next
const TICKS = 12;
const [MINUTE, HOUR, DAY] = [6e4, 36e5, 864e5];
const EVERY_MS = [1, 2, 5, 10, 15, 30].map((each) => each * MINUTE).concat([1, 2, 3, 6, 12].map((each) => each * HOUR), [1, 2, 7, 14, 28].map((each) => each * DAY));
const KEYS = "Arrow keys go from cell to cell, with Shift they draw a box, Enter chooses it, Escape clears it.";
const ARROWS = /** @type {Record<string, [number, number] | undefined>} */ ({ ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowDown: [0, -1], ArrowUp: [0, 1] });
const RAMP = ["#e8f1fb", "#b6d4f2", "#79aee6", "#3f82d6", "#1f57a8", "#0c2f66"];
const DARK_RAMP = ["#22324a", "#2b4f80", "#346fb8", "#4f93e0", "#86bbf5", "#d3e7ff"];

/** @typedef {{since: string, until: string, from_us: number, to_us: number}} Box */

/**
 * @param {HTMLElement} place
 * @param {import("./documents.js").HeatDocument} map
 * @param {Box | null} box
 * @param {(box: Box | null) => void} selected
 * @returns {HTMLElement[]} what its colours stand for
 */
export function drawHeat(place, map, box, selected) {
  const canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { tabindex: "0", role: "application", "aria-label": `heat map of durations over time. ${KEYS}`, title: KEYS }));
  const hadFocus = place.contains(document.activeElement);
  fill(place, canvas);
  // A place of another size is drawn anew: a canvas that is stretched tells other times than it shows.
  const watcher = new ResizeObserver(() => {
    if (canvas.isConnected && (!place.clientWidth || place.clientWidth === width)) return;
    watcher.disconnect();
    if (canvas.isConnected) drawHeat(place, map, box, selected);
  });
  watcher.observe(place);
  if (hadFocus) canvas.focus();
  const [width, height] = [place.clientWidth, place.clientHeight];
  canvas.width = width * devicePixelRatio;
  canvas.height = height * devicePixelRatio;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(devicePixelRatio, devicePixelRatio);
  const [since, until] = [Date.parse(map.since), Date.parse(map.until)];
  const first = Math.floor(since / 1e3 / map.step_s) * map.step_s * 1e3;
  // The last column is as wide as the others, though it is not over yet.
  const columns = Math.ceil((until - first) / (map.step_s * 1e3));
  const last = first + columns * map.step_s * 1e3;
  const durations = [...map.from_us, ...map.to_us].map(Math.log);
  const [low, high] = [Math.min(...durations), Math.max(...durations)];
  const x = (/** @type {number} */ at) => LEFT + ((at - first) / (last - first)) * (width - LEFT - 4);
  const y = (/** @type {number} */ us) => height - BOTTOM - ((Math.log(us) - low) / (high - low)) * (height - BOTTOM - 8);
  const at = (/** @type {number} */ left) => first + ((left - LEFT) / (width - LEFT - 4)) * (last - first);
  const us = (/** @type {number} */ top) => Math.exp(low + ((height - BOTTOM - top) / (height - BOTTOM - 8)) * (high - low));

  const most = Math.max(1, ...map.requests);
  const isDark = colour("ground").startsWith("#1");
  const ramp = isDark ? DARK_RAMP : RAMP;
  const paint = (/** @type {Box | null} */ shown) => {
    context.clearRect(0, 0, width, height);
    map.started_at.forEach((/** @type {string} */ text, /** @type {number} */ cell) => {
      const start = Date.parse(text);
      const level = Math.min(ramp.length - 1, Math.floor((Math.log1p(map.requests[cell]) / Math.log1p(most)) * ramp.length));
      context.fillStyle = ramp[level];
      const [left, top] = [x(start), y(map.to_us[cell])];
      context.fillRect(left, top, Math.max(1, x(start + map.step_s * 1e3) - left - 1), Math.max(1, y(map.from_us[cell]) - top - 1));
    });
    axes();
    if (shown) {
      const [left, right] = [Math.max(LEFT, x(Date.parse(shown.since))), Math.min(width - 4, x(Date.parse(shown.until)))];
      const [top, bottom] = [Math.max(2, y(shown.to_us)), Math.min(height - BOTTOM, y(shown.from_us))];
      context.strokeStyle = colour("bad");
      context.lineWidth = 2;
      context.strokeRect(left, top, right - left, bottom - top);
    }
  };
  const axes = () => {
    context.fillStyle = colour("quiet");
    context.font = "12px system-ui";
    context.textAlign = "right";
    let free = Infinity;
    for (let power = 0; power < 10; power += 1) {
      for (const value of [1, 2, 5].map((each) => each * 10 ** power)) {
        if (Math.log(value) < low || Math.log(value) > high || y(value) > free) continue;
        context.fillText(duration(value), LEFT - 8, y(value) + 4);
        free = y(value) - ROOM;
      }
    }
    context.textAlign = "center";
    const every = EVERY_MS.find((each) => (until - since) / each <= TICKS) ?? EVERY_MS[EVERY_MS.length - 1];
    for (let when = Math.ceil(since / every) * every; when <= until; when += every) {
      const text = new Date(when).toISOString();
      if (x(when) < width - 16) context.fillText(every >= DAY || (when % DAY === 0 && !isOneDay(map.since, map.until)) ? text.slice(5, 10) : text.slice(11, 16), x(when), height - 6);
    }
  };

  /** @type {{left: number, top: number} | null} */
  let started = null;
  const place_ = (/** @type {PointerEvent} */ event) => ({ left: event.offsetX, top: event.offsetY });
  const boxOf = (/** @type {{left: number, top: number}} */ a, /** @type {{left: number, top: number}} */ b) => ({
    since: new Date(Math.max(since, at(Math.min(a.left, b.left)))).toISOString(),
    until: new Date(Math.min(until, at(Math.max(a.left, b.left)))).toISOString(),
    from_us: Math.max(1, Math.round(us(Math.max(a.top, b.top)))),
    to_us: Math.round(us(Math.min(a.top, b.top))),
  });
  canvas.addEventListener("pointerdown", (event) => {
    started = place_(event);
    canvas.setPointerCapture(event.pointerId);
    note("");
  });
  canvas.addEventListener("pointermove", (event) => {
    if (started) return paint(boxOf(started, place_(event)));
    const [when, long] = [at(event.offsetX), us(event.offsetY)];
    const cell = map.started_at.findIndex((/** @type {string} */ text, /** @type {number} */ each) =>
      Date.parse(text) <= when && when < Date.parse(text) + map.step_s * 1e3 && map.from_us[each] <= long && long < map.to_us[each]);
    note(cell < 0 ? "" : told(Date.parse(map.started_at[cell]), map.from_us[cell], map.to_us[cell], cell), event);
  });
  canvas.addEventListener("pointerleave", () => note(""));
  canvas.addEventListener("pointerup", (event) => {
    if (!started) return;
    const ended = place_(event);
    const large = Math.abs(ended.left - started.left) > 5 && Math.abs(ended.top - started.top) > 5;
    const drawn = large ? boxOf(started, ended) : null;
    started = null;
    paint(drawn);
    selected(drawn);
  });

  /** A cell goes from place to place; a box has another one at its other corner. */
  function byKeys() {
    const rows = [...new Map(map.from_us.map((from, each) => [from, map.to_us[each]]))].sort(([one], [two]) => one - two);
    const step = map.step_s * 1e3;
    let here = { column: columns - 1, row: rows.length - 1 };
    let corner = here;
    const boxed = () => {
      const [left, right] = [Math.min(corner.column, here.column), Math.max(corner.column, here.column)];
      const [lower, upper] = [Math.min(corner.row, here.row), Math.max(corner.row, here.row)];
      return {
        since: new Date(Math.max(since, first + left * step)).toISOString(),
        until: new Date(Math.min(until, first + (right + 1) * step)).toISOString(),
        from_us: Math.max(1, rows[lower][0]),
        to_us: rows[upper][1],
      };
    };
    canvas.addEventListener("keydown", (event) => {
      const arrow = ARROWS[event.key];
      if (event.key === "Enter") selected(boxed());
      else if (event.key === "Escape") selected(null);
      else if (arrow) {
        event.preventDefault();
        here = { column: Math.min(columns - 1, Math.max(0, here.column + arrow[0])), row: Math.min(rows.length - 1, Math.max(0, here.row + arrow[1])) };
        if (!event.shiftKey) corner = here;
        paint(boxed());
        const [start, [from, to]] = [first + here.column * step, rows[here.row]];
        const cell = map.started_at.findIndex((text, each) => Date.parse(text) === start && map.from_us[each] === from);
        const bounds = canvas.getBoundingClientRect();
        note(told(start, from, to, cell), { clientX: bounds.left + x(start), clientY: bounds.top + y(from) });
      }
    });
    canvas.addEventListener("blur", () => { note(""); paint(box); });
  }

  /** What a cell holds; -1: nothing. @param {number} start @param {number} from @param {number} to @param {number} cell */
  function told(start, from, to, cell) {
    const count = cell < 0 ? "no request" : `${whole(map.requests[cell])} requests, ${whole(map.traced[cell])} traced`;
    return `${moment(new Date(start).toISOString())} UTC, ${duration(from)} to ${duration(to)}\n${count}`;
  }

  byKeys();
  paint(box);
  return scale(most, ramp);
}

/** How many requests each colour stands for; levels that no whole number has are left out. @param {number} most @param {string[]} ramp */
function scale(most, ramp) {
  const least = ramp.map((_, level) => Math.max(1, Math.ceil(Math.expm1((level / ramp.length) * Math.log1p(most)) - 1e-9)));
  const steps = ramp.map((paint, level) => ({ paint, from: least[level], to: level + 1 < ramp.length ? least[level + 1] - 1 : most }));
  return [el("span", {}, "requests a cell:"), ...steps.filter(({ from, to }) => to >= from).map(({ paint, from, to }) => {
    const dot = el("i");
    dot.style.background = paint;
    return el("span", {}, dot, from === to ? whole(from) : `${whole(from)}–${whole(to)}`);
  })];
}
