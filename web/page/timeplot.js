// The rate of every trial over time: all arms in one plot, then each arm in one of its own.

import uPlot from '../third_party/uplot/uPlot.esm.js';
import { rateText, tick } from './number.js';
import { faded, hue, ink, swatch } from './palette.js';
import { besidePlots, storedPlot } from './beside.js';
import { axis, decades, discard, dotted, font, joined, labelEnds, roomForLabels, show, valueAt, whenSeen } from './plot.js';

const rates = (s) => [s.t, s.rate];

// Shades each warm-up: where those of several arms lie over each other, the shade is darker.
function shadeWarmups(plot, ends) {
  const { left, top, width, height } = plot.bbox;
  plot.ctx.save();
  plot.ctx.fillStyle = ink('shade');
  plot.ctx.globalAlpha = 1 - 0.05 ** (1 / Math.max(ends.length, 1));
  for (const end of ends) {
    const x = Math.min(plot.valToPos(end, 'x', true), left + width);
    if (end > 0 && x > left) plot.ctx.fillRect(left, top, x - left, height);
  }
  plot.ctx.restore();
}

// What sank has no place: its first level and its last one are drawn, each over its own time.
function drawLevels(plot, levels) {
  const { top, height } = plot.bbox;
  const ctx = plot.ctx;
  const end = 4 * devicePixelRatio;
  ctx.lineWidth = 1.5 * devicePixelRatio;
  for (const level of levels) {
    const from = plot.valToPos(level.t, 'x', true);
    const until = plot.valToPos(level.until, 'x', true);
    const y = Math.min(Math.max(plot.valToPos(level.rate, 'y', true), top), top + height);
    ctx.beginPath();
    ctx.moveTo(from, y - end);
    ctx.lineTo(from, y + end);
    ctx.moveTo(from, y);
    ctx.lineTo(until, y);
    ctx.moveTo(until, y - end);
    ctx.lineTo(until, y + end);
    ctx.stroke();
  }
}

function drawMarks(plot, marks, labelled) {
  const { left, top, width, height } = plot.bbox;
  const ctx = plot.ctx;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  const named = [];
  for (const mark of [...marks].sort((a, b) => a.t - b.t)) {
    const x = plot.valToPos(mark.t, 'x', true);
    const until = mark.until > mark.t ? plot.valToPos(mark.until, 'x', true) : x;
    const across = Math.max(until - x, 2 * ratio);
    ctx.strokeStyle = ctx.fillStyle = ink(mark.kind === 'change' ? 'ink-2' : 'alert');
    if (mark.levels) {
      drawLevels(plot, mark.levels);
    } else if (mark.until > mark.t && mark.kind !== 'stall') {
      // What lasts is a bar above the plot: shading all of it would hide the lines.
      ctx.fillRect(x, top, across, 2.5 * ratio);
    } else if (mark.until > mark.t) {
      ctx.globalAlpha = 0.13;
      ctx.fillRect(x, top, across, height);
      ctx.globalAlpha = 1;
    } else {
      ctx.setLineDash([3 * ratio, 3 * ratio]);
      ctx.lineWidth = ratio;
      ctx.beginPath();
      ctx.moveTo(x, top);
      ctx.lineTo(x, top + height);
      ctx.stroke();
    }
    ctx.setLineDash([]);
    // What began before the part that is shown, or at its very edge, is named at the edge.
    if (labelled && mark.kind !== 'change' && until >= left && x <= left + width) named.push({ text: `${mark.kind}: ${mark.arm}`, x: Math.max(x, left) });
  }
  ctx.restore();
  nameMarks(plot, named);
}

// Writes the names above the plot, one after the other. For whom there is no room, the list beneath the plot has the name.
function nameMarks(plot, named) {
  const ctx = plot.ctx;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.fillStyle = ink('alert');
  ctx.font = font(11 * ratio);
  ctx.textBaseline = 'alphabetic';
  ctx.textAlign = 'left'; // uPlot leaves that of its axes
  let free = -Infinity;
  for (const { text, x } of named) {
    const width = ctx.measureText(text).width;
    const at = Math.min(Math.max(x, free), plot.width * ratio - width);
    if (at < free) continue;
    ctx.fillText(text, at, plot.bbox.top - 4 * ratio);
    free = at + width + 12 * ratio;
  }
  ctx.restore();
}

// The same mark in several blocks is one mark on the plot.
function distinctMarks(series) {
  const marks = [];
  for (const s of [...series].sort((a, b) => Number(b.median) - Number(a.median))) {
    for (const mark of s.marks || []) {
      if (!marks.some((m) => m.arm === s.arm && m.kind === mark.kind && Math.abs(m.t - mark.t) < 3)) marks.push({ ...mark, arm: s.arm });
    }
  }
  return marks;
}

// What the marks at a time say: the cursor is at a mark when it is within five pixels of it.
function sentencesAt(plot, time, marks) {
  const near = Math.abs(plot.posToVal(5, 'x') - plot.posToVal(0, 'x'));
  const said = marks.filter((mark) => time >= mark.t - near && time <= Math.max(mark.until || 0, mark.t) + near);
  return said.map((mark) => `; ${mark.arm}: ${mark.kind}: ${mark.text}`).join('');
}

export function timePlots(table, looks, root, resources) {
  const state = { hidden: new Set(), focus: null, log: false };
  const rows = new Map(table.rows.map((row) => [row.arm, row]));
  const arms = table.rows.map((row) => row.arm).filter((arm) => table.series.some((s) => s.arm === arm));
  for (const arm of arms) if (looks.get(arm).aside) state.hidden.add(arm);
  const middles = arms.filter((arm) => !state.hidden.has(arm) && rows.get(arm).rate).map((arm) => rows.get(arm).rate.value);
  state.log = middles.length > 1 && Math.max(...middles) > 25 * Math.min(...middles);

  const group = uPlot.sync(table.id);
  const overlay = root.querySelector('.overlay');
  const legend = root.querySelector('.legend');
  const readout = root.querySelector('.readout');
  const scaleButton = root.querySelector('.scale');
  const zoomButton = root.querySelector('.unzoom');
  let plot = null;
  const members = [];

  const values = new Map();
  for (const arm of arms) {
    const button = document.createElement('button');
    button.type = 'button';
    button.setAttribute('aria-pressed', String(!state.hidden.has(arm)));
    const name = document.createElement('span');
    name.textContent = arm;
    const value = document.createElement('span');
    value.className = 'at-cursor';
    values.set(arm, value);
    button.append(swatch(looks.get(arm)), name, value);
    button.addEventListener('click', () => {
      if (!state.hidden.delete(arm)) state.hidden.add(arm);
      button.setAttribute('aria-pressed', String(!state.hidden.has(arm)));
      redrawOverlay();
      beside.redraw();
      stored.redraw();
    });
    const focus = (on) => () => { state.focus = on && !state.hidden.has(arm) ? arm : null; if (plot) plot.redraw(false, false); beside.refocus(); };
    button.addEventListener('pointerenter', focus(true));
    button.addEventListener('pointerleave', focus(false));
    button.addEventListener('focus', focus(true));
    button.addEventListener('blur', focus(false));
    legend.append(button);
  }

  const zoomAll = (min, max) => {
    for (const member of members) if (member.scales.x.min !== min || member.scales.x.max !== max) member.setScale('x', { min, max });
    zoomButton.hidden = false;
  };
  const end = Math.max(0, ...table.series.flatMap((s) => s.t.slice(-1)));
  const zoomOut = () => { for (const member of members) member.setScale('x', { min: 0, max: end }); zoomButton.hidden = true; };
  zoomButton.addEventListener('click', zoomOut);
  const onZoom = {
    setSelect: [(u) => {
      if (u.select.width < 4) return;
      const from = u.posToVal(u.select.left, 'x');
      const to = u.posToVal(u.select.left + u.select.width, 'x');
      for (const member of members) member.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      zoomAll(from, to);
    }],
  };
  const cursor = (more) => ({
    sync: { key: group.key, scales: ['x', null] },
    drag: { x: true, y: false, setScale: false },
    bind: { dblclick: () => () => { zoomOut(); return null; } },
    y: false,
    points: { size: 5 },
    ...more,
  });

  const stroke = (s) => () => {
    const look = looks.get(s.arm);
    const other = state.focus && state.focus !== s.arm;
    return faded(hue(look), (s.median ? 1 : 0.3) * (other ? 0.15 : 1));
  };
  const lineOf = (s) => ({ label: `${s.arm}, block ${s.block}`, stroke: stroke(s), width: s.median ? 1.7 : 0.8, dash: looks.get(s.arm).dash, spanGaps: true, points: { ...dotted(s.rate), stroke: stroke(s) } });

  function redrawOverlay() {
    if (!plot) return;
    const { min, max } = plot.scales.x;
    members.splice(members.indexOf(plot), 1);
    discard(plot);
    drawOverlay();
    plot.setScale('x', { min, max });
  }

  function drawOverlay() {
    const shown = table.series.filter((s) => !state.hidden.has(s.arm));
    const data = shown.length ? joined(shown, rates) : [[0, end || 1]];
    const lowest = Math.min(...shown.flatMap((s) => s.rate.filter((r) => r > 0)));
    scaleButton.textContent = state.log ? 'Linear scale' : 'Log scale';
    const warmups = shown.filter((s) => s.median).map((s) => s.warmup_s);
    const narrow = overlay.clientWidth < 480;
    plot = show({
      height: narrow ? 220 : 300,
      padding: [18, roomForLabels(arms, overlay), 0, 0],
      cursor: cursor({}),
      scales: {
        x: { time: false, range: (u, min, max) => (shown.length ? [min, max] : [0, end || 1]) },
        y: state.log
          ? { distr: 3, range: (u, min, max) => [10 ** Math.floor(Math.log10(Math.max(min || lowest || 1, 1e-3))), 10 ** Math.ceil(Math.log10(max || 10))] }
          : { range: (u, min, max) => [0, (max || 1) * 1.04] },
      },
      axes: [
        axis({ values: (u, ticks) => ticks.map((v) => `${v} s`), space: 70, size: 26 }),
        axis({ ...(state.log ? { filter: decades, grid: { filter: decades } } : {}), values: (u, ticks) => ticks.map((v) => (v == null ? '' : tick(v) + (v === 0 ? '' : '/s'))), size: 62 }),
      ],
      series: [{}, ...shown.map(lineOf)],
      hooks: {
        ...onZoom,
        drawClear: [(u) => shadeWarmups(u, warmups)],
        draw: [(u) => {
          drawMarks(u, distinctMarks(shown), true);
          labelEnds(u, shown.flatMap((s, i) => {
            if (!s.median) return [];
            const last = valueBefore(u.data[i + 1], u.data[0], u.scales.x.max);
            return [{ text: s.arm, y: Math.min(Math.max(u.valToPos(last, 'y', true), u.bbox.top), u.bbox.top + u.bbox.height), colour: stroke(s)() }];
          }));
        }],
        setCursor: [(u) => {
          const place = u.cursor.idx;
          readout.textContent = place == null ? '' : `at ${u.data[0][place].toFixed(1)} s${sentencesAt(u, u.data[0][place], distinctMarks(shown))}`;
          for (const arm of arms) values.get(arm).textContent = '';
          if (place == null) return;
          shown.forEach((s, i) => {
            if (!s.median) return;
            const value = valueAt(u, i + 1, place);
            values.get(s.arm).textContent = value == null ? '' : rateText(value);
          });
        }],
      },
    }, data, overlay);
    members.push(plot);
  }

  const frame = { arms, state, members, cursor, hooks: onZoom, end, overlay,
    range: () => (zoomButton.hidden || !plot ? { min: 0, max: end } : { min: plot.scales.x.min, max: plot.scales.x.max }) };
  const beside = besidePlots(table, resources, looks, root, frame);
  const stored = storedPlot(table, looks, root, frame);

  scaleButton.addEventListener('click', () => { state.log = !state.log; redrawOverlay(); });
  whenSeen(overlay, () => { drawOverlay(); plot.setScale('x', { min: 0, max: end || 1 }); });

  const grid = root.querySelector('.multiples');
  for (const arm of arms) {
    const own = table.series.filter((s) => s.arm === arm);
    const cell = document.createElement('div');
    cell.className = 'multiple';
    const title = document.createElement('p');
    title.append(swatch(looks.get(arm)), arm);
    const canvas = document.createElement('div');
    canvas.dataset.share = '0.24';
    cell.append(title, canvas);
    grid.append(cell);
    whenSeen(canvas, () => {
      const marks = distinctMarks(own);
      const small = show({
        height: 92,
        padding: [6, 12, 0, 0],
        cursor: cursor({ points: { show: false } }),
        scales: { x: { time: false, range: (u, min, max) => [min, max] }, y: { range: (u, min, max) => [0, (max || 1) * 1.05] } },
        axes: [
          axis({ values: (u, ticks) => ticks.map((v) => `${v}`), size: 18, space: 40, font: font(10), grid: { show: false } }),
          axis({ values: (u, ticks) => ticks.map((v) => tick(v)), size: 38, space: 26, font: font(10) }),
        ],
        series: [{}, ...own.map((s) => {
          const colour = () => faded(hue(looks.get(arm)), s.median ? 1 : 0.4);
          return { ...lineOf(s), stroke: colour, points: { ...dotted(s.rate), stroke: colour }, width: s.median ? 1.4 : 0.8, dash: [] };
        })],
        hooks: { ...onZoom, drawClear: [(u) => shadeWarmups(u, own.filter((s) => s.median || own.length === 1).map((s) => s.warmup_s))], draw: [(u) => drawMarks(u, marks, false)] },
      }, joined(own, rates), canvas);
      small.setScale('x', { min: 0, max: end });
      members.push(small);
    });
  }
}

function valueBefore(column, times, limit) {
  for (let i = times.length - 1; i >= 0; i--) if (times[i] <= limit && column[i] != null) return column[i];
  return null;
}
