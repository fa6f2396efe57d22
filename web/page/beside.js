// What was measured beside the rate, on its time axis: a small plot for each series that is chosen, and the rate against the
// records that were stored.

import { rateText, resourceText, resourceTick, tick } from './number.js';
import { faded, hue } from './palette.js';
import { axis, discard, dotted, font, joined, labelEnds, roomForLabels, show, valueAt, whenSeen } from './plot.js';

const height = 84;
const heightLast = 104; // with the labels of the time axis

// frame is what the plots share with the plot of rates: { arms, state, members, cursor, hooks, end, left, overlay }.
export function besidePlots(table, resources, looks, root, frame) {
  const place = root.querySelector('.beside');
  const choices = root.querySelector('.choices');
  const chooser = root.querySelector('.chooser');
  const measured = table.series.filter((s) => s.beside);
  const has = (s, name) => Boolean(s.beside.values[name]);
  const offered = resources.filter((r) => measured.some((s) => has(s, r.name)));
  // Where a trial's own disk is what counts its host writes, the disk's series stands for the worker's.
  const ofDisk = table.rows.some((row) => row.host_write_source === 'disk') && offered.some((r) => r.name === 'device.write');
  const shownFirst = (r) => r.shown || (ofDisk && r.name === 'device.write');
  const chosen = new Set(offered.filter(shownFirst).map((r) => r.name));
  const missing = resources.filter((r) => !offered.includes(r) && (r.shown || r.missing) && !(ofDisk && r.name === 'worker.write')).map((r) => r.title);
  const short = table.rows.filter((row) => row.rate && !frame.arms.includes(row.arm)).map((row) => row.arm);
  root.querySelector('.unmeasured').textContent = [
    short.length ? `No curve, too short for a sample: ${short.join(', ')}.` : '',
    missing.length ? `Not measured over time: ${missing.join(', ')}.` : '',
  ].filter(Boolean).join(' ');
  chooser.hidden = offered.length === 0;
  const count = () => { chooser.querySelector('summary').textContent = `Beside the rate, of the same blocks: ${chosen.size} of ${offered.length} series shown; choose`; };
  let drawn = [];

  const groups = new Map();
  for (const resource of offered) {
    if (!groups.has(resource.group)) {
      const label = document.createElement('span');
      label.textContent = resource.group;
      const buttons = document.createElement('div');
      buttons.setAttribute('role', 'group');
      buttons.setAttribute('aria-label', resource.group);
      choices.append(label, buttons);
      groups.set(resource.group, buttons);
    }
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = resource.short;
    button.title = `${resource.meaning}${resource.unit ? `, in ${resource.unit}` : ''}`;
    button.setAttribute('aria-pressed', String(chosen.has(resource.name)));
    button.addEventListener('click', () => {
      if (!chosen.delete(resource.name)) chosen.add(resource.name);
      button.setAttribute('aria-pressed', String(chosen.has(resource.name)));
      drawAll();
    });
    groups.get(resource.group).append(button);
  }

  function clear() {
    for (const plot of drawn) {
      const at = frame.members.indexOf(plot);
      if (at >= 0) frame.members.splice(at, 1);
      discard(plot);
    }
    drawn = [];
    place.replaceChildren();
  }

  function drawAll() {
    clear();
    count();
    const list = offered.filter((r) => chosen.has(r.name));
    list.forEach((resource, i) => {
      const cell = document.createElement('div');
      const title = document.createElement('p');
      const name = document.createElement('b');
      name.textContent = resource.title;
      const values = document.createElement('span');
      values.className = 'values';
      const absent = measured.filter((s) => !has(s, resource.name) && !frame.state.hidden.has(s.arm)).map((s) => s.arm);
      const meaning = [resource.meaning, resource.unit && resource.unit !== 'share' ? resource.unit : ''].filter(Boolean).join(', ');
      title.append(name, ` ${meaning}${absent.length ? ` (not measured: ${absent.join(', ')})` : ''} `, values);
      const canvas = document.createElement('div');
      const last = i === list.length - 1;
      canvas.style.minHeight = `${last ? heightLast : height}px`;
      canvas.setAttribute('role', 'img');
      canvas.setAttribute('aria-label', `${resource.title} over the phase`);
      cell.append(title, canvas);
      place.append(cell);
      whenSeen(canvas, () => drawOne(resource, canvas, values, last));
    });
  }

  function drawOne(resource, canvas, values, last) {
    const shown = measured.filter((s) => has(s, resource.name) && !frame.state.hidden.has(s.arm));
    const data = shown.length ? joined(shown, (s) => [s.beside.t, s.beside.values[resource.name]]) : [[0, frame.end || 1]];
    const plot = show({
      height: last ? heightLast : height,
      padding: [6, roomForLabels(frame.arms, frame.overlay), 0, 0],
      cursor: frame.cursor({ points: { size: 4 } }),
      scales: {
        x: { time: false, range: (u, min, max) => (shown.length ? [min, max] : [0, frame.end || 1]) },
        y: { range: (u, min, max) => [Math.min(0, min || 0), (max || 1) * 1.06] },
      },
      axes: [
        axis({ values: (u, ticks) => ticks.map((v) => (last ? `${v} s` : '')), space: 70, size: last ? 26 : 4 }),
        axis({ values: (u, ticks) => ticks.map((v) => resourceTick(v, resource.unit)), size: 62, space: 26, font: font(10) }),
      ],
      series: [{}, ...shown.map((s) => {
        const stroke = () => faded(hue(looks.get(s.arm)), frame.state.focus && frame.state.focus !== s.arm ? 0.15 : 1);
        return { label: s.arm, stroke, width: 1.4, dash: looks.get(s.arm).dash, spanGaps: true, points: { ...dotted(s.beside.values[resource.name]), stroke } };
      })],
      hooks: {
        ...frame.hooks,
        setCursor: [(u) => {
          const at = u.cursor.idx;
          values.textContent = at == null ? '' : shown.map((s, i) => {
            const value = valueAt(u, i + 1, at);
            return value == null ? '' : `${s.arm} ${resourceText(value, resource.unit)}`;
          }).filter(Boolean).join(' · ');
        }],
      },
    }, data, canvas);
    const now = frame.range();
    plot.setScale('x', now);
    drawn.push(plot);
    frame.members.push(plot);
  }

  drawAll();
  return { redraw: drawAll, refocus: () => { for (const plot of drawn) plot.redraw(false, false); } };
}

// The rate against the records that were stored then, where their number changes.
export function storedPlot(table, looks, root, frame) {
  const element = root.querySelector('.stored');
  const growing = table.series.filter((s) => s.median && s.records && !looks.get(s.arm).aside);
  if (!growing.length) return { redraw: () => {} };
  element.hidden = false;
  root.querySelector('.stored-caption').hidden = false;
  let plot = null;
  const draw = () => {
    if (plot) discard(plot);
    const shown = growing.filter((s) => !frame.state.hidden.has(s.arm));
    const data = shown.length ? joined(shown, (s) => [s.records, s.rate]) : [[0, 1]];
    const highest = Math.max(1, ...shown.flatMap((s) => s.rate.filter((r) => r != null)));
    plot = show({
      height: 240,
      padding: [10, roomForLabels(frame.arms, element), 0, 0],
      cursor: { drag: { x: true, y: false }, y: false, points: { size: 5 } },
      scales: { x: { time: false }, y: { range: () => [0, highest * 1.04] } },
      axes: [
        axis({ values: (u, ticks) => ticks.map((v) => tick(v)), space: 70, size: 26 }),
        axis({ values: (u, ticks) => ticks.map((v) => (v === 0 ? '0' : `${tick(v)}/s`)), size: 62 }),
      ],
      series: [{}, ...shown.map((s) => ({ label: s.arm, stroke: () => hue(looks.get(s.arm)), width: 1.6, dash: looks.get(s.arm).dash, spanGaps: true, points: { ...dotted(s.rate), stroke: () => hue(looks.get(s.arm)) } }))],
      hooks: {
        drawClear: [(u) => {
          const { top, height } = u.bbox;
          u.ctx.save();
          u.ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
          for (const s of shown) {
            for (const mark of (s.marks || []).filter((m) => m.kind === 'cliff' && m.records != null)) {
              const x = u.valToPos(mark.records, 'x', true);
              u.ctx.strokeStyle = hue(looks.get(s.arm));
              u.ctx.beginPath();
              u.ctx.moveTo(x, top);
              u.ctx.lineTo(x, top + height);
              u.ctx.stroke();
            }
          }
          u.ctx.restore();
        }],
        draw: [(u) => labelEnds(u, shown.map((s, i) => {
          const x = s.records[s.records.length - 1];
          const at = u.data[0].indexOf(x);
          return { text: s.arm, x: u.valToPos(x, 'x', true), y: u.valToPos(u.data[i + 1][at], 'y', true), colour: hue(looks.get(s.arm)) };
        }))],
        setCursor: [(u) => {
          const at = u.cursor.idx;
          root.querySelector('.readout').textContent = at == null ? '' : `${tick(u.data[0][at])} records: ${shown.map((s, i) => {
            const value = valueAt(u, i + 1, at);
            return value == null || u.data[0][at] > s.records[s.records.length - 1] ? '' : `${s.arm} ${rateText(value)}`;
          }).filter(Boolean).join(' · ')}`;
        }],
      },
    }, data, element);
  };
  whenSeen(element, draw);
  return { redraw: () => { if (plot) draw(); } };
}
