// @ts-check
// Charts over time: uPlot in the house look, one cursor for all charts of a group, and each as PNG or SVG.

import uPlot from "../vendor/uPlot.esm.js";
import { colour, el } from "./dom.js";
import { moment } from "./format.js";
import { multiples } from "./ticks.js";
import { caption, captioned } from "./chart_saved.js";
import { toSvg } from "./chart_svg.js";
import { selectByTouch } from "./chart_touch.js";

/**
 * @typedef {object} Line
 * @property {string} label
 * @property {string} colour
 * @property {(number | null)[]} values
 * @property {"line" | "step" | "points" | "bars"} [drawn] bars are as wide as the least step of x
 * @property {boolean} [hidden]
 * @property {number} [width]
 * @property {number[]} [dash] lengths of its strokes and of the gaps between them
 * @property {boolean} [isGapped] where it has no value there is a gap; else it goes on to its next value
 * @property {{ low: (number | null)[], high: (number | null)[] }} [band] the ends of its intervals
 */

/**
 * @typedef {object} Axis
 * @property {(value: number) => string} told
 * @property {boolean} [isLog]
 * @property {number} [least]
 * @property {number} [most]
 */

/**
 * @typedef {object} Mark a moment at which something was done
 * @property {number} x
 * @property {string} label
 */

/**
 * @typedef {object} Chart
 * @property {number[]} x
 * @property {boolean} [isClock] x is seconds since 1970, else us since a trace began
 * @property {number} [zero] where round times are counted from, us since the trace began
 * @property {Line[]} lines
 * @property {Axis} y
 * @property {number} [height]
 * @property {string} [group] charts of one group share their cursor
 * @property {string} name of the file that it is saved as
 * @property {(from: number, to: number) => void} [zoomed]
 * @property {Mark[]} [marks] upright lines, in order
 * @property {(chart: uPlot) => void} [over] drawn over the lines
 * @property {(chart: uPlot) => void} [under] drawn under them
 * @property {(x: number, index: number) => void} [clicked]
 * @property {[number, number]} [range]
 * @property {(value: number) => string} [toldX]
 */

/** @type {WeakMap<Element, uPlot>} */
const drawn = new WeakMap();
let isZooming = false; // a drag selects in every chart of its group at once, and is one zoom

/**
 * Draws into a place, in which nothing else is; drawn again it replaces itself.
 * @param {HTMLElement} place
 * @param {Chart} chart
 * @returns {uPlot}
 */
export function draw(place, chart) {
  drawn.get(place)?.destroy();
  place.replaceChildren();
  const edges = banded(chart).flatMap(({ band }) => [band.high, band.low]);
  const plot = new uPlot(options(place, chart), [chart.x, ...chart.lines.map((line) => line.values), ...edges], place);
  drawn.set(place, plot);
  if (chart.zoomed) selectByTouch(plot);
  choosing(place, plot, chart.lines.length);
  place.append(saving(place, plot, chart));
  return plot;
}

/**
 * A click on a line's name shows it alone, the next one all of them; with Alt or Ctrl it hides the line or shows it. uPlot's
 * own way of it counts the edges of bands as lines.
 * @param {HTMLElement} place
 * @param {uPlot} plot
 * @param {number} lines
 */
function choosing(place, plot, lines) {
  const names = [...place.querySelectorAll(".u-legend .u-series")].slice(1, lines + 1);
  for (const [at, name] of names.entries()) {
    const own = at + 1;
    const label = /** @type {HTMLElement} */ (name.querySelector("th"));
    label.title = "click: this one alone, or all; with Alt: hide or show it";
    label.addEventListener("click", (event) => {
      event.stopImmediatePropagation();
      const isOne = event.altKey || event.ctrlKey || event.metaKey;
      const others = names.map((_, other) => other + 1).filter((other) => other !== own);
      const isAlone = plot.series[own].show && !others.some((other) => plot.series[other].show);
      if (isOne) plot.setSeries(own, { show: !plot.series[own].show });
      else {
        plot.setSeries(own, { show: true });
        for (const other of others) plot.setSeries(other, { show: isAlone });
      }
    }, { capture: true });
  }
}

/** Lines with a band, with their numbers among the plot's series, and that of the band's upper edge; the lower one is next. @param {Chart} chart */
function banded(chart) {
  const lines = chart.lines.flatMap((line, at) => (line.band ? [{ line, number: at + 1, band: line.band }] : []));
  return lines.map((each, place) => ({ ...each, edge: chart.lines.length + 1 + 2 * place }));
}

/**
 * @param {HTMLElement} place
 * @param {Chart} chart
 * @returns {uPlot.Options}
 */
function options(place, chart) {
  const grid = { stroke: colour("line"), width: 1 };
  const axis = { stroke: colour("quiet"), grid, ticks: grid, font: "12px system-ui" };
  const { toldX, zero } = chart;
  const last = Math.max(0, ...chart.lines.map((line) => line.values.findLastIndex((value) => value !== null)));
  const bands = banded(chart);
  return {
    width: Math.max(280, place.clientWidth),
    height: chart.height ?? 240,
    tzDate: (at) => uPlot.tzDate(new Date(at * 1e3), "Etc/UTC"),
    cursor: {
      sync: chart.group ? { key: chart.group, setSeries: false } : undefined,
      drag: { x: Boolean(chart.zoomed), y: false, setScale: false },
      bind: chart.clicked ? { click: (plot) => () => { clicked(plot, chart); return null; } } : undefined,
    },
    scales: {
      x: { time: Boolean(chart.isClock), range: chart.range },
      y: { distr: chart.y.isLog ? 3 : 1, range: chart.y.isLog ? undefined : (_plot, least, most) => [Math.min(chart.y.least ?? 0, least ?? 0), chart.y.most ?? Math.max(1e-9, most ?? 1) * 1.05] },
    },
    axes: [
      { ...axis, values: (_plot, values) => values.map((value) => (toldX ?? clock(values))(value)), space: 80, splits: zero ? (_plot, _axis, least, most, step) => multiples(least, most, step, zero) : undefined },
      { ...axis, size: 84, values: (_plot, values) => values.map((value) => (value === null ? "" : chart.y.told(value))) },
    ],
    series: [
      // Where no place is pointed at, the last one is told at which a line has a value.
      { label: chart.isClock ? "UTC" : "time", value: (_plot, value) => (chart.x.length ? (toldX ?? instant)(value ?? chart.x[last]) : "–") },
      ...chart.lines.map((line) => ({
        label: line.label,
        stroke: line.colour,
        width: line.width ?? 1.6,
        dash: line.dash,
        show: !line.hidden,
        spanGaps: !line.isGapped,
        fill: line.drawn === "bars" ? line.colour : undefined,
        points: { show: line.drawn === "bars" ? false : line.drawn === "points" || line.isGapped || line.values.length < 60, size: line.drawn === "points" ? 4 : 5, fill: line.colour, filter: line.isGapped && line.values.length >= 60 ? () => alone(line.values) : undefined },
        paths: pathsOf(line),
        value: (/** @type {uPlot} */ _plot, /** @type {number | null} */ value, /** @type {number} */ _number, /** @type {number | null | undefined} */ at) => {
          const told = (at ?? null) === null ? line.values[last] : value;
          return told === null || told === undefined ? "–" : chart.y.told(told);
        },
      })),
      ...bands.flatMap(({ line }) => ["high", "low"].map((end) => ({ label: `${line.label}, ${end} end`, class: "edge", width: 0, show: !line.hidden, spanGaps: false, points: { show: false } }))),
    ],
    bands: bands.map(({ line, edge }) => ({ series: [edge, edge + 1], fill: `${line.colour}2e` })),
    hooks: {
      // A band goes with its line.
      setSeries: [
        (plot, number, change) => {
          const band = bands.find((each) => each.number === number);
          if (band && change.show !== undefined) for (const edge of [band.edge, band.edge + 1]) plot.setSeries(edge, { show: change.show });
          const own = bands.find(({ edge }) => edge === number || edge + 1 === number);
          const isShown = own && plot.series[own.number].show;
          if (own && change.show !== undefined && change.show !== isShown) plot.setSeries(/** @type {number} */ (number), { show: isShown });
        },
      ],
      drawClear: chart.under ? [chart.under] : [],
      draw: [...(chart.marks ? [marking(chart.marks)] : []), ...(chart.over ? [chart.over] : [])],
      setSelect: [
        (plot) => {
          if (chart.zoomed && plot.select.width > 4) {
            const [from, to] = [plot.select.left, plot.select.left + plot.select.width].map((at) => plot.posToVal(at, "x"));
            plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            if (isZooming) return;
            isZooming = true;
            setTimeout(() => { isZooming = false; });
            chart.zoomed(from, to);
          }
        },
      ],
    },
  };
}

/** @param {Line} line @returns {uPlot.Series.PathBuilder | undefined} */
function pathsOf(line) {
  if (line.drawn === "step") return uPlot.paths.stepped?.({ align: 1 });
  if (line.drawn === "bars") return uPlot.paths.bars?.({ size: [1, Infinity], align: 0, gap: 0 });
  return line.drawn === "points" ? () => null : undefined;
}

/** Places of values between two gaps, of which no line tells. @param {(number | null)[]} values */
function alone(values) {
  return values.flatMap((value, at) => (value !== null && (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null ? [at] : []));
}

/** Draws marks; a label that has no room before the next mark is left out. @param {Mark[]} marks @returns {(plot: uPlot) => void} */
function marking(marks) {
  return (plot) => {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    ctx.strokeStyle = colour("quiet");
    ctx.fillStyle = colour("quiet");
    ctx.font = `${11 * ratio}px system-ui`;
    ctx.textBaseline = "top";
    ctx.setLineDash([4 * ratio, 4 * ratio]);
    for (const [place, { x, label }] of marks.entries()) {
      const at = plot.valToPos(x, "x", true);
      ctx.beginPath();
      ctx.moveTo(at, bbox.top);
      ctx.lineTo(at, bbox.top + bbox.height);
      ctx.stroke();
      const [before, next] = [place - 1, place + 1].map((other) => (marks[other] ? plot.valToPos(marks[other].x, "x", true) : null));
      const room = ctx.measureText(label).width + 6 * ratio;
      // At the right edge it stands before its line.
      const isBefore = at + room > bbox.left + bbox.width;
      ctx.textAlign = isBefore ? "right" : "left";
      const fits = isBefore ? at - room > (before ?? bbox.left) : at + room < (next ?? Infinity);
      if (fits) ctx.fillText(label, at + (isBefore ? -3 : 3) * ratio, bbox.top + 2 * ratio);
    }
    ctx.restore();
  };
}

/** @param {number | undefined} at since 1970, s */
function instant(at) {
  return at === undefined ? "–" : moment(new Date(at * 1e3).toISOString());
}

/** Hours and minutes; days where the axis has several. @param {number[]} values @returns {(at: number) => string} */
function clock(values) {
  const isLong = values.length > 1 && values[values.length - 1] - values[0] > 2 * 86_400;
  const isShort = values.length > 1 && values[1] - values[0] < 60;
  return (at) => {
    const text = new Date(at * 1e3).toISOString();
    return isLong ? `${text.slice(5, 10)} ${text.slice(11, 16)}` : text.slice(11, isShort ? 19 : 16);
  };
}

/** @param {uPlot} plot @param {Chart} chart */
function clicked(plot, chart) {
  if (plot.cursor.left !== undefined && plot.cursor.left >= 0 && chart.clicked) {
    chart.clicked(plot.posToVal(plot.cursor.left, "x"), plot.cursor.idx ?? 0);
  }
}

/**
 * @param {Element} place
 * @param {uPlot} plot
 * @param {Chart} chart
 */
function saving(place, plot, chart) {
  const legend = () => chart.lines.filter((_, at) => plot.series[at + 1].show).map(({ label, colour: own }) => ({ label, colour: own }));
  const png = () => captioned(plot.ctx.canvas, plot.width, legend(), caption(place, chart.name)).toBlob((blob) => blob && save(blob, `${chart.name}.png`));
  const vector = () => save(new Blob([toSvg(plot, chart, caption(place, chart.name))], { type: "image/svg+xml" }), `${chart.name}.svg`);
  return el("div", { class: "chart-tools" }, el("button", { type: "button", title: "save as PNG", onclick: png }, "PNG"), el("button", { type: "button", title: "save as SVG", onclick: vector }, "SVG"));
}

/**
 * @param {Blob} blob
 * @param {string} name
 */
export function save(blob, name) {
  const link = /** @type {HTMLAnchorElement} */ (el("a", { href: URL.createObjectURL(blob), download: name }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

addEventListener("resize", () => {
  for (const place of document.querySelectorAll(".chart")) {
    const plot = drawn.get(place);
    if (plot && place.clientWidth > 0) plot.setSize({ width: Math.max(280, place.clientWidth), height: plot.height });
  }
});
