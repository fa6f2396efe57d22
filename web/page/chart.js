// The charts. uPlot makes axes, scales, cursor and zoom; the lines are drawn here, because each has times of its own.

import uPlot from '../third_party/uplot/uPlot.esm.js';
import { latencyText, rateText, resourceText, resourceTick, si, tick } from './number.js';
import { axis, font, ink, rateTick, repaint as repaintAll, seconds } from './plot.js';

const data = JSON.parse(document.getElementById('data').textContent);
const plots = new Set();
const focused = new Map(); // table → the arm that is singled out
const hidden = new Map(); // table → the arms that the reader took away
const scales = new Map(); // table → 'log' or 'linear', as the reader chose
const nines = new Map([[0.5, 0.301], [0.9, 1], [0.99, 2], [0.999, 3], [0.9999, 4], [1, 5]]); // −log₁₀ of the share above; max last
const nineNames = new Map([[0.301, 'p50'], [1, 'p90'], [2, 'p99'], [3, 'p99.9'], [4, 'p99.99'], [5, 'max']]);
const overTime = { x: (s) => s.t, tickX: seconds, at: (v) => `${v.toFixed(1)} s` };
const rate = { y: (s) => s.rate, tickY: rateTick, text: rateText, fromZero: true };

const byRate = { x: (s) => s.rate, tickX: (v) => tick(v), at: (v) => `${rateText(v)} asked for`, dots: true };
const wait = { tickY: (v) => tick(v / 1e9, 's'), text: latencyText, log: true, labels: true };
const queue = { tickY: (v) => tick(v), text: si, fromZero: true, labels: true };

// Latencies stand on a scale of decades, as their logarithms.
const spread = { tickX: (v) => tick(10 ** v / 1e9, 's'), at: (v) => latencyText(10 ** v), tickY: (v) => `${si(100 * v)} %`, text: (v) => `${si(100 * v)} %`, decades: true };
const bins = (of) => (t) => t.latency.filter((s) => s.bins).map((s) => ({ arm: s.arm, median: true, x: s.bins.map(([ns]) => Math.log10(ns)), share: of(s.bins.map(([, share]) => share)) }));
const summed = (shares) => { let sum = 0; return shares.map((share) => (sum += share)); };

// Where the axis of decades has ticks: at each, or at 1, 2 and 5 of each where there are few.
function decadesIn(from, until) {
  const steps = until - from > 2.5 ? [0] : [0, Math.log10(2), Math.log10(5)];
  const all = [];
  for (let decade = Math.floor(from); decade <= until; decade++) for (const step of steps) if (decade + step >= from && decade + step <= until) all.push(decade + step);
  return all;
}

// What each kind of chart shows. lines has the series; of a series with several blocks, the median one is the line.
const kinds = {
  rate: { ...overTime, ...rate, lines: (t) => t.series.filter((s) => !s.aside), events: 'on the line', labels: true },
  one: { ...overTime, ...rate, tickX: String, tickY: (v) => tick(v), lines: (t, e) => t.series.filter((s) => s.arm === e.dataset.arm), events: 'across', all: true },
  groups: { ...overTime, ...rate, tickX: String, tickY: (v) => tick(v), lines: groupLines, all: true, dashed: true, alone: true },
  stored: { ...rate, x: (s) => s.records, tickX: (v) => tick(v), at: (v) => `${si(v)} records`, lines: (t) => t.series.filter((s) => s.records && !s.aside) },
  tasks: { x: (s) => s.done, y: (s) => s.took, lines: taskLines, tickX: (v) => tick(v), at: (v) => `${si(v)} operations of a task`, tickY: (v) => tick(v, 's'), text: (v) => si(v, 's'), fromZero: true, labels: true },
  resource: { ...overTime, x: (s) => s.at, y: (s, e) => s.beside[e.dataset.resource], lines: (t, e) => t.series.filter((s) => !s.aside && s.beside && s.beside[e.dataset.resource]), fromZero: true,
    tickY: (v, e) => resourceTick(v, data.units[e.dataset.resource]), text: (v, e) => resourceText(v, data.units[e.dataset.resource]) },
  byrate: { ...byRate, y: (s) => s.p, lines: (t) => t.load.flatMap((s) => [{ arm: s.arm, median: false, rate: s.rate, p: s.p50 }, { arm: s.arm, median: true, rate: s.rate, p: s.p99, low: s.low, high: s.high, cuts: s.cuts }]), limits: (t) => t.limits || [], ...wait },
  backlogs: { ...byRate, y: (s) => s.backlog, lines: (t) => t.load.map((s) => ({ ...s, median: true })), ...queue },
  waits: { ...overTime, y: (s) => s.p, lines: (t) => t.load.flatMap((s) => [{ arm: s.arm, median: false, t: s.t, p: s.then50 }, { arm: s.arm, median: true, t: s.t, p: s.then99 }]), ...wait },
  queued: { ...overTime, y: (s) => s.queued, lines: (t) => t.load.map((s) => ({ ...s, median: true })), ...queue },
  cdf: { ...spread, x: (s) => s.x, y: (s) => s.share, lines: bins(summed) },
  histogram: { ...spread, x: (s) => s.x, y: (s) => s.share, lines: bins((shares) => shares) },
  nines: { x: (s) => s.points.map((p) => nines.get(p.q)), y: (s) => s.points.map((p) => p.ns), lines: (t) => t.latency.map((s) => ({ ...s, median: true, points: s.points.filter((p) => nines.has(p.q)) })),
    ticksX: [...nines.values()], tickX: (v) => nineNames.get(v), at: (v) => nineNames.get(v) || '', tickY: (v) => tick(v / 1e9, 's'), text: latencyText, log: true, dots: true, labels: true, nearest: true },
};

// What each task of an arm took for so many operations, faint, and the median over its tasks.
function taskLines(table) {
  return table.series.filter((s) => s.tasks && !s.aside).flatMap((s) => {
    const done = (took) => took.map((_, i) => (i + 1) * s.every);
    const longest = s.tasks.reduce((a, b) => (b.length > a.length ? b : a));
    const middle = longest.map((_, i) => { const all = s.tasks.map((t) => t[i]).filter((v) => v != null).sort((a, b) => a - b); return all[all.length >> 1]; });
    return [...s.tasks.map((took) => ({ arm: s.arm, median: false, done: done(took), took })), { arm: s.arm, median: true, done: done(middle), took: middle }];
  });
}

// The groups of an arm's clients. The first is the table's own; each other one is drawn as high, for its rate is of other operations.
function groupLines(table, element) {
  const groups = table.groups.find((g) => g.arm === element.dataset.arm);
  const highest = (line) => Math.max(...finite(line.rate)) || 1;
  return groups.lines.map((line, i) => ({
    ...line, arm: line.name, median: true, look: i ? { hue: 'ink-2', dash: [4, 3] } : { ...data.looks[groups.arm], dash: [] }, scale: i ? highest(groups.lines[0]) / highest(line) : 1,
  }));
}

const finite = (values) => values.filter((v) => v != null);
const decade = (v) => Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-9;

function linesOf(element, kind) {
  const lines = kind.lines(data.tables[element.dataset.table], element).map((s) => ({
    arm: s.arm, block: s.block, main: s.median, x: kind.x(s, element), y: scaled(kind.y(s, element), s.scale), scale: s.scale || 1, look: s.look || data.looks[s.arm], warmup: s.warmup || 0, events: s.events || [],
    from: s.from || 0, until: s.until || 0, low: s.low, high: s.high, cuts: s.cuts || [],
  })).filter((line) => finite(line.y).length && (kind.all || !hidden.get(element.dataset.table)?.has(line.arm)));
  for (const line of lines) line.main = line.main || !lines.some((other) => other.arm === line.arm && other.main);
  return lines.sort((a, b) => a.main - b.main); // the faint ones beneath
}

const scaled = (values, by) => (by ? values.map((v) => (v == null ? v : v * by)) : values);

// Levels that lie far apart are seen on a scale of decades only.
function wantsLog(lines) {
  const middles = lines.filter((l) => l.main).map((l) => finite(l.y).sort((a, b) => a - b)).map((y) => y[y.length >> 1]).filter((m) => m > 0);
  return middles.length > 1 && Math.max(...middles) > 25 * Math.min(...middles);
}

const isLog = (table, lines) => (scales.has(table) ? scales.get(table) === 'log' : wantsLog(lines));

// Whether the chart of a table's rates has a scale of decades.
export const logged = (element) => isLog(element.dataset.table, linesOf(element, kinds[element.dataset.kind]));

// Draws the charts of a table anew, without the arms that are hidden, on the scale that was chosen; null: the one that fits.
export function view(table, arms, scale) {
  hidden.set(table, new Set(arms));
  if (scale) scales.set(table, scale); else scales.delete(table);
  for (const plot of [...plots]) {
    const element = plot.root.parentNode;
    if (element.dataset.table !== table || kinds[element.dataset.kind].all) continue;
    plots.delete(plot);
    plot.destroy();
    element.plot = undefined;
    element.replaceChildren();
  }
  drawShown();
}

function draw(element, width, height) {
  const kind = kinds[element.dataset.kind];
  const table = element.dataset.table;
  const lines = linesOf(element, kind);
  if (!lines.length) return;
  const arms = new Set(lines.map((l) => l.arm));
  const log = kind.log || (kind.fromZero && !kind.all && element.dataset.kind !== 'resource' && isLog(table, lines));
  const shown = lines.filter((l) => l.main || kind.all || arms.size <= 3);
  const limits = kind.limits ? kind.limits(data.tables[table]) : [];
  const ys = [...shown.flatMap((l) => finite(l.y)), ...limits.map((l) => l.ns)].filter((v) => !log || v > 0);
  const xs = lines.flatMap((l) => [...finite(l.x), ...l.cuts.map((c) => c.rate)]);
  const low = log ? 10 ** Math.floor(Math.log10(Math.min(...ys))) : Math.min(0, ...ys);
  const high = log ? 10 ** Math.ceil(Math.log10(Math.max(...ys)) + 1e-9) : (Math.max(...ys) || 1) * 1.06;
  const small = element.classList.contains('small');
  const labels = kind.labels && arms.size > 1 && arms.size <= 16 && width >= 440;
  const from = kind.nearest ? 0.15 : kind.decades ? Math.min(...xs) : Math.min(0, ...xs);
  const until = Math.max(...xs) || 1;
  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;

  const px = small ? 10 : 11;
  const decades = (u, splits) => splits.map((v) => (decade(v) ? v : null));
  const plot = new uPlot({
    width,
    height,
    padding: [10, labels ? Math.min(140, 22 + widest([...arms])) : 14, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: !kind.nearest, y: false }, sync: kind.x === overTime.x || kind.tickX === overTime.tickX ? { key: table, scales: ['x', null] } : undefined },
    scales: { x: { time: false, range: (u, min, max) => (min == null ? [from, until] : [min, max]) }, y: { distr: log ? 3 : 1, range: () => [low, high] } },
    axes: [
      axis(px, { size: small ? 20 : 26, space: small ? 44 : 70, ...(kind.ticksX ? { splits: () => kind.ticksX, space: 10 } : {}), ...(kind.decades ? { splits: (u, i, low, high) => decadesIn(low, high), space: 30 } : {}), values: (u, at) => at.map((v) => (kind.nearest && u.width < 420 && (v === 1 || v === 4) ? '' : kind.tickX(v, element))), grid: { show: !small } }),
      axis(px, { size: !small ? 60 : element.dataset.kind === 'one' ? 42 : 58, space: small ? 26 : 36, ...(log ? { filter: decades, grid: { filter: decades } } : {}), values: (u, at) => at.map((v) => (v == null ? '' : kind.tickY(v, element))) }),
    ],
    series: [{}, { show: true, stroke: 'transparent', points: { show: false } }],
    hooks: {
      drawClear: [(u) => { drawGround(u, kind, lines); drawLimits(u, limits); }],
      draw: [(u) => { drawLines(u, kind, lines, shown, kind.all ? null : focused.get(table)); if (labels) labelEnds(u, lines, focused.get(table)); }],
      setCursor: [(u) => showTip(u, element, kind, lines, tip)],
    },
  }, [[from, until], [low, high]], element);
  plot.root.setAttribute('aria-hidden', 'true');
  element.append(tip);
  element.plot = plot;
  plots.add(plot);
  element.addEventListener('pointerleave', () => { tip.hidden = true; focus(table, null); });
}

function clipped(u, work) {
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  u.ctx.clip();
  work(u.ctx, devicePixelRatio);
  u.ctx.restore();
}

// Warm-up, and in a chart of one arm what happened when, or when other groups ran.
function drawGround(u, kind, lines) {
  if (kind.alone) drawSpans(u, lines);
  const arms = new Set(lines.map((l) => l.arm));
  if (!kind.events || arms.size > 1) return;
  clipped(u, (ctx, ratio) => {
    const { top, height } = u.bbox;
    const band = (a, b) => ctx.fillRect(u.valToPos(a, 'x', true), top, Math.max(ratio * 2, u.valToPos(b, 'x', true) - u.valToPos(a, 'x', true)), height);
    const main = lines[lines.length - 1];
    ctx.fillStyle = ink('shade');
    if (main.warmup > 0) band(0, main.warmup);
    ctx.fillStyle = ctx.strokeStyle = ink('alert');
    ctx.lineWidth = ratio;
    for (const event of main.events) {
      ctx.globalAlpha = event.until > event.t ? 0.16 : 0.8;
      if (event.until > event.t) { band(event.t, event.until); continue; }
      const x = u.valToPos(event.t, 'x', true);
      ctx.setLineDash([3 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x, top + height);
      ctx.stroke();
    }
  });
}

function drawSpans(u, lines) {
  clipped(u, (ctx) => {
    ctx.fillStyle = ink('shade');
    for (const { from, until } of lines) if (until > from) ctx.fillRect(u.valToPos(from, 'x', true), u.bbox.top, u.valToPos(until, 'x', true) - u.valToPos(from, 'x', true), u.bbox.height);
  });
}

// What objectives bound latency by.
function drawLimits(u, limits) {
  clipped(u, (ctx, ratio) => {
    ctx.strokeStyle = ctx.fillStyle = ink('ink-2');
    ctx.lineWidth = ratio;
    ctx.font = font(11 * ratio);
    ctx.textBaseline = 'bottom';
    ctx.textAlign = 'left';
    for (const { ns, text } of limits) {
      const y = u.valToPos(ns, 'y', true);
      ctx.setLineDash([5 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(u.bbox.left, y);
      ctx.lineTo(u.bbox.left + u.bbox.width, y);
      ctx.stroke();
      ctx.fillText(text, u.bbox.left + 6 * ratio, y - 2 * ratio);
    }
  });
}

// What the steps of a rate saw at least and at most.
function drawBand(ctx, u, line) {
  const at = (values) => line.x.map((x, i) => [u.valToPos(x, 'x', true), u.valToPos(values[i], 'y', true)]);
  ctx.save();
  ctx.globalAlpha *= 0.14;
  ctx.beginPath();
  for (const point of [...at(line.low), ...at(line.high).reverse()]) ctx.lineTo(...point);
  ctx.fill();
  ctx.restore();
}

// Where objectives break: a ring on the limit of a latency, and a line down from it.
function drawCuts(ctx, u, line, ratio) {
  const bottom = u.bbox.top + u.bbox.height;
  ctx.lineWidth = ratio;
  for (const { rate, ns } of line.cuts) {
    const x = u.valToPos(rate, 'x', true);
    const y = ns ? u.valToPos(ns, 'y', true) : u.bbox.top;
    ctx.setLineDash(ns ? [2 * ratio, 3 * ratio] : [1 * ratio, 5 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x, bottom);
    ctx.stroke();
    ctx.setLineDash([]);
    if (!ns) continue;
    ctx.beginPath();
    ctx.arc(x, y, 5 * ratio, 0, 2 * Math.PI);
    ctx.lineWidth = 1.6 * ratio;
    ctx.stroke();
  }
}

function drawLines(u, kind, lines, shown, single) {
  const order = single ? [...lines.filter((l) => l.arm !== single), ...lines.filter((l) => l.arm === single)] : lines;
  clipped(u, (ctx, ratio) => {
    for (const line of order) {
      const own = line.arm === single;
      if (!own && !shown.includes(line)) continue;
      ctx.strokeStyle = ctx.fillStyle = ink(line.look.hue);
      ctx.globalAlpha = (single && !own ? 0.13 : 1) * (line.main ? 1 : 0.35);
      ctx.lineWidth = ratio * (line.main ? (own ? 2.4 : 1.6) : 1);
      ctx.lineJoin = 'round';
      if (line.low) drawBand(ctx, u, line);
      ctx.setLineDash(kind.all && !kind.dashed ? [] : line.look.dash.map((d) => d * ratio));
      ctx.beginPath();
      let pen = false;
      const points = [];
      line.x.forEach((x, i) => {
        const y = line.y[i];
        if (x == null || y == null) { pen = kind.nearest && pen; return; }
        const at = [u.valToPos(x, 'x', true), u.valToPos(y, 'y', true)];
        if (pen) ctx.lineTo(...at); else ctx.moveTo(...at);
        pen = true;
        points.push(at);
      });
      ctx.stroke();
      ctx.setLineDash([]);
      drawCuts(ctx, u, line, ratio);
      if (kind.dots || points.length === 1) for (const at of points) dot(ctx, at, 2.4 * ratio);
      if (kind.events === 'on the line' && line.main) for (const event of line.events) drop(ctx, u, line, event, ratio);
    }
  });
}

function dot(ctx, [x, y], radius) {
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fill();
}

// A triangle that points at the line where something happened.
function drop(ctx, u, line, event, ratio) {
  const at = before(line, event.t);
  if (at < 0) return;
  const x = u.valToPos(event.t, 'x', true);
  const y = u.valToPos(line.y[at], 'y', true) - 4 * ratio;
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(x - 4.5 * ratio, y - 8 * ratio);
  ctx.lineTo(x + 4.5 * ratio, y - 8 * ratio);
  ctx.fill();
}

// The last place of a line at or before x that has a value; -1: none.
function before(line, x) {
  let found = -1;
  for (let i = 0; i < line.x.length; i++) if (line.x[i] != null && line.x[i] <= x && line.y[i] != null) found = i;
  return found;
}

function showTip(u, element, kind, lines, tip) {
  const { left, top } = u.cursor;
  if (left < 0 || !element.matches(':hover')) { tip.hidden = true; return; }
  let x = u.posToVal(left, 'x');
  if (kind.ticksX) x = kind.ticksX.reduce((best, at) => (Math.abs(at - x) < Math.abs(best - x) ? at : best));
  const values = lines.filter((l) => l.main).map((line) => {
    const i = kind.nearest ? line.x.indexOf(x) : before(line, x);
    return i < 0 ? null : { line, value: line.y[i], off: Math.abs(u.valToPos(line.y[i], 'y') - top) };
  }).filter((v) => v && v.value != null).sort((a, b) => b.value - a.value);
  if (!values.length) { tip.hidden = true; return; }
  const near = values.reduce((a, b) => (b.off < a.off ? b : a));
  if (!kind.alone) focus(element.dataset.table, near.off < 30 && values.length > 1 ? near.line.arm : null);
  const most = 12;
  const start = Math.max(0, Math.min(values.indexOf(near) - most / 2, values.length - most));
  tip.replaceChildren(...[{ text: kind.at(x) }, ...values.slice(start, start + most).map((v) => ({ name: v.line.arm, hue: v.line.look.hue, text: kind.text(v.value / v.line.scale, element), own: v === near }))].map((row) => {
    const p = document.createElement('p');
    if (row.own) p.className = 'own';
    if (row.name != null) {
      const name = document.createElement('span');
      name.textContent = row.name;
      name.style.color = `var(--${row.hue})`;
      p.append(name);
    }
    p.append(row.text);
    return p;
  }));
  tip.hidden = false;
  const room = element.clientWidth - tip.offsetWidth;
  const plotLeft = u.bbox.left / devicePixelRatio;
  const at = plotLeft + left + 14;
  tip.style.left = `${Math.max(0, at > room ? plotLeft + left - tip.offsetWidth - 14 : at)}px`;
}

const measure = document.createElement('canvas').getContext('2d');
function widest(texts) {
  measure.font = font(11);
  return Math.max(...texts.map((text) => measure.measureText(text).width));
}

// Writes each arm at its line's end, moved apart where lines end close together.
function labelEnds(u, lines, single) {
  const ratio = devicePixelRatio;
  const { left, top, width, height } = u.bbox;
  const step = 13 * ratio;
  const ends = lines.filter((l) => l.main).map((line) => {
    const last = before(line, u.scales.x.max);
    if (last < 0) return null;
    const y = u.valToPos(line.y[last], 'y', true);
    return { line, x: Math.min(u.valToPos(line.x[last], 'x', true), left + width), y: Math.min(Math.max(y, top), top + height) };
  }).filter(Boolean).sort((a, b) => a.y - b.y);
  let free = top;
  for (const end of ends) { end.at = Math.max(end.y, free); free = end.at + step; }
  free = top + height;
  for (const end of [...ends].reverse()) { end.at = Math.min(end.at, free); free = end.at - step; }
  const { ctx } = u;
  ctx.save();
  ctx.font = font(11 * ratio);
  ctx.textBaseline = 'middle';
  ctx.textAlign = 'left';
  ctx.lineWidth = 0.75 * ratio;
  for (const { line, x, y, at } of ends) {
    ctx.globalAlpha = single && single !== line.arm ? 0.25 : 1;
    ctx.strokeStyle = ctx.fillStyle = ink(line.look.hue);
    ctx.beginPath();
    ctx.moveTo(x + 2 * ratio, y);
    ctx.lineTo(left + width + 8 * ratio, at);
    ctx.stroke();
    ctx.fillText(line.arm.length > 22 ? `${line.arm.slice(0, 21)}…` : line.arm, left + width + 11 * ratio, at + ratio / 2);
  }
  ctx.restore();
}

// Singles an arm out in all charts of its table; null: the one whose button is pressed, if any.
export function focus(table, arm) {
  const section = document.getElementById(table);
  const pressed = section && section.querySelector('.legend [aria-pressed=true]');
  const next = arm ?? (pressed ? pressed.dataset.arm : null);
  if ((focused.get(table) ?? null) === next) return;
  focused.set(table, next);
  for (const plot of plots) {
    const of = plot.root.parentNode.dataset;
    if (of.table === table && !kinds[of.kind].all) plot.redraw(false, false);
  }
}

// Draws what is in sight and not drawn yet. All sizes are asked for first: each drawing changes the layout.
export function drawShown() {
  const sizes = [...document.querySelectorAll('.plot')].filter((e) => !e.plot).map((e) => [e, e.clientWidth, e.clientHeight]);
  for (const [element, width, height] of sizes) if (width) draw(element, width, height);
}

// Sets every chart to its element's width.
export function fit() {
  drawShown();
  const sizes = [...plots].map((plot) => [plot, plot.root.parentNode.clientWidth, plot.root.parentNode.clientHeight]);
  for (const [plot, width, height] of sizes) if (width && (width !== plot.width || height !== plot.height)) plot.setSize({ width, height });
}

// The canvas of a chart; null: it is not drawn.
export const canvasOf = (element) => (element.plot ? element.plot.ctx.canvas : null);

export const repaint = () => repaintAll(plots);
