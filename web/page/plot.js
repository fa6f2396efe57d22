// What every plot has in common: paper, axes, labels at the lines' ends, and being drawn only once it comes into sight.

import uPlot from '../third_party/uplot/uPlot.esm.js';
import { ink } from './palette.js';

export const plots = new Set();
// Labels that would take more than this share of a plot are left out: the legend and the bars tell the colours.
const labelShareMax = 0.33;
const roomWithout = 18; // pixels beside the lines where there are no labels
const face = '"Helvetica Neue", "Segoe UI", Roboto, "Liberation Sans", Arial, sans-serif';
export const font = (px) => `${px}px ${face}`;

const decade = (value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9;
export const decades = (u, splits) => splits.map((value) => (decade(value) ? value : null));

export function axis({ grid, ...more }) {
  return {
    stroke: () => ink('ink-2'),
    font: font(11), // whole pixels: uPlot scales no others right for screens of high density
    labelFont: font(11),
    grid: { stroke: () => ink('rule'), width: 1, ...grid },
    ticks: { show: false },
    gap: 4,
    ...more,
  };
}

const pending = new Map();
const watcher = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) if (isIntersecting) drawNow(target);
}, { rootMargin: '400px' });

function drawNow(element) {
  const draw = pending.get(element);
  if (!draw) return;
  pending.delete(element);
  watcher.unobserve(element);
  draw();
}

export function whenSeen(element, draw) {
  pending.set(element, draw);
  watcher.observe(element);
}

export function drawAll() {
  for (const element of [...pending.keys()]) drawNow(element);
}

export function widthOf(element) {
  return Math.max(120, Math.floor(element.clientWidth));
}

export function show(options, data, element) {
  const plot = new uPlot(
    { legend: { show: false }, ...options, width: widthOf(element) },
    data,
    element,
  );
  plot.root.setAttribute('aria-hidden', 'true');
  plots.add(plot);
  element.plot = plot;
  element.dataset.drawn = 'yes';
  return plot;
}

export function discard(plot) {
  plots.delete(plot);
  plot.destroy();
}

let frame = 0;
addEventListener('resize', () => {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(() => fit()); // not fit itself: it would take the time for a width
});

// Sets every plot to its element's width or, for print, to its share of the paper's width in pixels.
export function fit(paper) {
  for (const plot of plots) {
    const element = plot.root.parentNode;
    const room = paper ? Math.floor(paper * Number(element.dataset.share || 1)) : widthOf(element);
    if (room !== plot.width) plot.setSize({ width: room, height: plot.height });
  }
}

export function repaint() {
  for (const plot of plots) plot.redraw(false, true);
}


// Trials are sampled at times of their own: the lines share the sorted times of all. axes gives a line's times and values.
export function joined(series, axes) {
  const columns = series.map(axes);
  const times = [...new Set(columns.flatMap(([t]) => t.filter((at) => at != null)))].sort((a, b) => a - b);
  const place = new Map(times.map((t, i) => [t, i]));
  return [times, ...columns.map(([t, values]) => {
    const column = new Array(times.length).fill(null);
    t.forEach((at, i) => { if (at != null) column[place.get(at)] = values[i]; });
    return column;
  })];
}

// A line of a single value would not be seen: it is drawn as a point. values are the line's own, without those of other times.
export const dotted = (values) => ({ show: values.filter((v) => v != null).length === 1, size: 6, width: 0 });

// The value of a line at or just before a place of the shared times.
export function valueAt(plot, seriesIndex, place) {
  for (let i = place; i >= 0 && i > place - 40; i--) {
    const value = plot.data[seriesIndex][i];
    if (value != null) return value;
  }
  return null;
}

// Writes each label at its line's end, moved apart where lines end close together, in the order of the lines.
export function labelEnds(plot, ends) {
  const ctx = plot.ctx;
  const ratio = devicePixelRatio;
  const line = 13 * ratio;
  const { left, top, width, height } = plot.bbox;
  if (plot.width * ratio - left - width < (roomWithout + 1) * ratio) return;
  const labels = ends.filter((end) => Number.isFinite(end.y)).sort((a, b) => a.y - b.y);
  let lowest = top + 5 * ratio;
  for (const label of labels) {
    label.at = Math.max(label.y, lowest);
    lowest = label.at + line;
  }
  let highest = top + height;
  for (const label of [...labels].reverse()) {
    label.at = Math.min(label.at, highest);
    highest = label.at - line;
  }
  ctx.save();
  ctx.font = font(11.5 * ratio);
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'left';
  for (const label of labels) {
    const x = label.x ?? left + width;
    ctx.strokeStyle = ctx.fillStyle = label.colour;
    ctx.lineWidth = ratio * 0.75;
    ctx.beginPath();
    ctx.moveTo(x + 1 * ratio, label.y);
    ctx.lineTo(x + 7 * ratio, label.at);
    ctx.stroke();
    ctx.fillText(label.text, x + 10 * ratio, label.at + 0.5 * ratio);
  }
  ctx.restore();
}

export function roomForLabels(texts, element) {
  const ctx = document.createElement('canvas').getContext('2d');
  ctx.font = font(11.5);
  const room = Math.min(150, 20 + Math.max(0, ...texts.map((text) => ctx.measureText(text).width)));
  return room > labelShareMax * widthOf(element) ? roomWithout : room;
}
