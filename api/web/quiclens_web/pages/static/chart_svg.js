// @ts-check
// A chart as SVG text: the same data, scales and colours as the canvas has, with its caption.

import { LINE, MARGIN, margins } from "./chart_saved.js";
import { isOneDay } from "./format.js";

/**
 * @param {import("../vendor/uPlot.esm.js")} plot
 * @param {import("./chart.js").Chart} chart
 * @param {import("./chart_saved.js").Caption} said
 * @returns {string}
 */
export function toSvg(plot, chart, said) {
  const { width, height } = plot;
  const legend = chart.lines.filter((_, number) => plot.series[number + 1].show);
  const room = margins(legend.length);
  const ratio = devicePixelRatio;
  const box = { left: plot.bbox.left / ratio, top: plot.bbox.top / ratio, width: plot.bbox.width / ratio, height: plot.bbox.height / ratio };
  const x = (/** @type {number} */ value) => (box.left + plot.valToPos(value, "x")).toFixed(2);
  const y = (/** @type {number} */ value) => (box.top + plot.valToPos(value, "y")).toFixed(2);
  const floor = y(plot.scales.y.min ?? 0);
  const widths = chart.x.slice(1).map((at, place) => Number(x(at)) - Number(x(chart.x[place])));
  const bar = widths.length ? Math.min(...widths) : box.width;
  const shapes = chart.lines.flatMap((line, number) => {
    if (!plot.series[number + 1].show) return [];
    const runs = unbroken(drawable(line.values), line.isGapped ?? false).map((run) => run.map((at) => [x(chart.x[at]), y(/** @type {number} */ (line.values[at]))]));
    if (line.drawn === "bars") return runs.flat().map(([at, value]) => `<rect x="${(Number(at) - bar / 2).toFixed(2)}" y="${value}" width="${bar.toFixed(2)}" height="${(Number(floor) - Number(value)).toFixed(2)}" fill="${line.colour}"/>`);
    if (line.drawn === "points") return runs.flat().map(([at, value]) => `<circle cx="${at}" cy="${value}" r="2" fill="${line.colour}"/>`);
    const shown = runs.map((points) => {
      if (points.length === 1) return `<circle cx="${points[0][0]}" cy="${points[0][1]}" r="2.5" fill="${line.colour}"/>`;
      const path = points.map(([at, value], place) => (place === 0 ? `M${at} ${value}` : line.drawn === "step" ? `H${at}V${value}` : `L${at} ${value}`)).join("");
      return `<path d="${path}" fill="none" stroke="${line.colour}" stroke-width="1.6"${line.dash ? ` stroke-dasharray="${line.dash.join(" ")}"` : ""}/>`;
    });
    return [...band(line), ...shown];
  });
  /** What has a place on the axis. @param {(number | null | undefined)[]} values */
  function drawable(values) {
    return values.map((value) => (value === null || value === undefined || (chart.y.isLog && value <= 0) ? null : value));
  }
  /** The area between the ends of a line's intervals. @param {import("./chart.js").Line} line */
  function band(line) {
    const ends = line.band;
    if (!ends) return [];
    const [low, high] = [drawable(ends.low), drawable(ends.high)];
    const both = low.map((value, at) => (value === null || high[at] === null ? null : 1));
    return unbroken(both, true).map((run) => {
      const edge = (/** @type {(number | null)[]} */ values) => run.map((at) => `${x(chart.x[at])} ${y(/** @type {number} */ (values[at]))}`);
      return `<path d="M${[...edge(ends.high), ...edge(ends.low).reverse()].join("L")}Z" fill="${line.colour}" fill-opacity="0.18"/>`;
    });
  }
  const told = chart.toldX ?? clock(plot.posToVal(0, "x"), plot.posToVal(box.width, "x"));
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => plot.posToVal(share * box.width, "x"));
  const levels = [0, 0.25, 0.5, 0.75, 1].map((share) => plot.posToVal(share * box.height, "y"));
  const axes = [
    ...ticks.map((at) => `<text x="${x(at)}" y="${box.top + box.height + 16}" text-anchor="middle">${escape(told(at))}</text>`),
    ...levels.map((at) => `<text x="${box.left - 6}" y="${Number(y(at)) + 4}" text-anchor="end">${escape(chart.y.told(at))}</text>`),
  ];
  const isLast = (/** @type {import("./chart.js").Mark} */ mark) => Number(x(mark.x)) + 7 * mark.label.length > box.left + box.width;
  const marks = (chart.marks ?? []).map((mark) => `<line x1="${x(mark.x)}" x2="${x(mark.x)}" y1="${box.top}" y2="${box.top + box.height}" stroke="#666" stroke-dasharray="4 4"/><text x="${Number(x(mark.x)) + (isLast(mark) ? -3 : 3)}" y="${box.top + 12}"${isLast(mark) ? ' text-anchor="end"' : ""} fill="#666">${escape(mark.label)}</text>`);
  const below = height + room.above;
  const keys = legend.map((line, at) => `<rect x="${MARGIN}" y="${below + at * LINE + 4}" width="10" height="10" fill="${line.colour}"/><text x="${MARGIN + 16}" y="${below + at * LINE + 13}">${escape(line.label)}</text>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${below + room.below}" font-family="sans-serif" font-size="12">` +
    `<text x="${MARGIN}" y="24" font-size="14" font-weight="bold">${escape(said.title)}</text><text x="${MARGIN}" y="${24 + LINE}">${escape(said.of)}</text>` +
    `<g transform="translate(0 ${room.above})"><rect x="${box.left}" y="${box.top}" width="${box.width}" height="${box.height}" fill="none" stroke="#bbb"/>${axes.join("")}${shapes.join("")}${marks.join("")}</g>` +
    `${keys.join("")}<text x="${MARGIN}" y="${below + legend.length * LINE + 13}" fill="#666">${escape(said.address)}</text></svg>`;
}

/** Times of a stretch, with dates where it goes over midnight. @param {number} first since 1970, s @param {number} last @returns {(at: number) => string} */
function clock(first, last) {
  const written = (/** @type {number} */ at) => new Date(at * 1e3).toISOString();
  return isOneDay(written(first), written(last)) ? (at) => written(at).slice(11, 19) : (at) => written(at).slice(0, 16).replace("T", " ");
}

/** Places of values that follow each other: one run, or where gaps are gaps as many as these leave. @param {(number | null | undefined)[]} values @param {boolean} isGapped */
function unbroken(values, isGapped) {
  /** @type {number[][]} */
  const runs = [[]];
  for (const [at, value] of values.entries()) {
    if (value !== null && value !== undefined) runs[runs.length - 1].push(at);
    else if (isGapped) runs.push([]);
  }
  return runs.filter((run) => run.length);
}

/** @param {string} text */
function escape(text) {
  return text.replace(/[&<>"]/g, (each) => `&#${each.charCodeAt(0)};`);
}
