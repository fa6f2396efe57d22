// The page of a run that goes on: asks once a second how far the run has come, and for the samples since. When the run has ended,
// the report is at the same address.

import uPlot from '../third_party/uplot/uPlot.esm.js';
import { rateText, resourceTick, tick } from './number.js';
import { axis, ink, rateTick, repaint, seconds } from './plot.js';

const element = (id) => document.getElementById(id);
const every = 1000; // ms
const hues = 8;

const hue = (trial) => (trial.hue < 0 ? 'arm-reference' : `arm-${trial.hue % hues}`);

const columns = ['phase', 't', 'rate', 'bad', 'p50', 'p99', 'cpu', 'rss', 'disk'];
const charts = { // the columns of each: the first is its line, the second a faint one
  rate: { lines: ['rate', 'bad'], tick: rateTick },
  p99: { lines: ['p99', 'p50'], tick: (v) => tick(v / 1e9, 's') },
  cpu: { lines: ['cpu'], tick: (v) => resourceTick(v, 'cores') },
  rss: { lines: ['rss', 'disk'], tick: (v) => resourceTick(v, 'B') },
};

let failures = 0;
const samples = new Map(); // trial's ID → its samples by column, and where the next begin
const plots = new Map(); // name of a chart → { plot, key }: key says what it draws

async function ask(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(`${response.status}`);
  return response.json();
}

// Asks for what a trial's samples have more than before.
async function follow(id) {
  const have = samples.get(id) || { next: 0, ...Object.fromEntries(columns.map((c) => [c, []])) };
  samples.set(id, have);
  for (;;) {
    const more = await ask(`samples/${encodeURIComponent(id)}?from=${have.next}`);
    if (more.next === have.next) return have;
    have.next = more.next;
    for (const c of columns) have[c].push(...(more[c] || []));
  }
}

// What of a trial's samples is of a phase.
function of(phase, have) {
  const at = have.phase.map((p, i) => (p === phase ? i : -1)).filter((i) => i >= 0);
  return Object.fromEntries(columns.map((c) => [c, at.map((i) => have[c][i] ?? null)]));
}

async function look() {
  const run = await ask('progress');
  if (!run.writing) { location.reload(); return; }
  const index = run.trials.findIndex((t) => t.id === run.now);
  const now = run.trials[index];
  let phase = '';
  if (now) {
    const have = await follow(now.id);
    phase = have.phase[have.phase.length - 1] || '';
    // The last trial of each other store in this cell, so that the rate has something beside it.
    const others = new Map();
    for (const t of run.trials.slice(0, index)) if (t.cell === now.cell && t.arm !== now.arm && t.hue >= 0 && t.state === 'ok') others.set(t.arm, t);
    for (const t of others.values()) if (!samples.has(t.id)) await follow(t.id);
    for (const id of samples.keys()) if (id !== now.id && ![...others.values()].some((t) => t.id === id)) samples.delete(id);
    const beside = now.hue < 0 ? [] : [...others.values()].map((t) => ({ trial: t, ...of(phase, samples.get(t.id)) })).filter((s) => s.t.length);
    for (const watch of document.querySelectorAll('.watch')) draw(watch, now, phase, of(phase, have), beside);
  }
  tell(run, now, phase, index);
}

function tell(run, now, phase, index) {
  document.title = `${run.done}/${run.of} · ${element('now').dataset.name || (element('now').dataset.name = document.title)}`;
  element('now').textContent = now ? `Trial ${index + 1} of ${run.of}: ${now.arm}${now.cell ? `, ${now.cell}` : ''}, block ${now.block}.` : `${run.done} of ${run.of} trials have ended; none is under way just now.`;
  element('done').max = run.of || 1;
  element('done').value = run.done;
  if (run.left_s != null) element('now').textContent += ` About ${run.left_s < 100 ? `${Math.ceil(run.left_s)} s` : `${Math.ceil(run.left_s / 60)} min`} left.`;
  element('sofar').hidden = !run.ranking.length;
  element('order').replaceChildren(...run.ranking.map((table) => {
    const row = document.createElement('tr');
    const name = cell('th', table.cell ? `${table.phase}, ${table.cell}` : table.phase);
    name.scope = 'row';
    const best = table.stores[0].rate;
    const text = table.stores.map((s, i) => `${s.arm} ${i ? `${(s.rate / best).toFixed(2)}×` : rateText(s.rate)}`).join(', ');
    row.append(name, cell('td', text, true));
    return row;
  }));
  element('note').hidden = !run.note;
  element('note').textContent = run.note;
  element('phase').textContent = phase ? `Phase ${phase}` : '';
  const heads = ['Block', 'Store', 'Cell', 'State', ...run.phases];
  element('heads').replaceChildren(...heads.map((text, i) => cell('th', text, i < 4)));
  element('trials').replaceChildren(...run.trials.map((t) => {
    const row = document.createElement('tr');
    const name = cell('th', t.arm);
    name.scope = 'row';
    name.style.boxShadow = `inset 4px 0 var(--${hue(t)})`; // the hues are for lines: as text they are too faint
    name.style.paddingLeft = '.7rem';
    const state = t.state || (t === now ? 'goes on' : 'to come');
    row.append(cell('td', String(t.block), true), name, cell('td', t.cell, true), cell('td', t.why ? `${state}: ${t.why}` : state, true), ...run.phases.map((p) => cell('td', t.rates[p] === undefined ? '–' : rateText(t.rates[p]))));
    if (t === now) row.setAttribute('aria-current', 'true');
    return row;
  }));
}

function cell(kind, text, left) {
  const e = document.createElement(kind);
  e.textContent = text;
  if (left) e.className = 'left';
  return e;
}

// Draws a chart anew where it shows something else than before, and gives it the new samples otherwise.
function draw(watch, trial, phase, have, beside) {
  const name = watch.dataset.series;
  const chart = charts[name];
  const lines = chart.lines.map((column, i) => ({ t: have.t, y: have[column], hue: i ? 'ink-2' : hue(trial), width: i ? 1 : 1.8, alpha: i ? 0.5 : 1 }));
  if (name === 'rate') lines.push(...beside.map((s) => ({ t: s.t, y: s.rate, hue: hue(s.trial), width: 1, alpha: 0.45 })));
  const drawn = lines.filter((l) => l.t.length);
  watch.classList.toggle('none', !have[chart.lines[0]].some((v) => v != null));
  if (!drawn.length) return;
  const data = uPlot.join(drawn.map((l) => [l.t, l.y]));
  const key = [trial.id, phase, drawn.length, watch.clientWidth].join('/');
  const old = plots.get(name);
  if (old && old.key === key) { old.plot.setData(data); return; }
  if (old) old.plot.destroy();
  const plot = new uPlot({
    width: watch.clientWidth, height: watch.clientHeight, legend: { show: false }, cursor: { show: false },
    scales: { x: { time: false, range: (u, min, max) => [0, Math.max(max || 0, 1)] }, y: { range: (u, min, max) => [0, (max || 1) * 1.08] } },
    axes: [axis(11, { size: 26, values: (u, at) => at.map(seconds) }), axis(11, { size: 60, values: (u, at) => at.map(chart.tick) })],
    series: [{}, ...drawn.map((l) => ({ stroke: () => ink(l.hue), width: l.width, alpha: l.alpha, points: { show: false }, spanGaps: true }))],
  }, data, watch);
  plots.set(name, { plot, key });
}

async function loop() {
  try {
    if (!document.hidden) await look(); // nobody sees it: the CPU is the run's
    failures = 0;
  } catch (trouble) {
    if (++failures > 2) element('now').textContent = `No answer (${trouble.message}): assay serve has ended, or the run directory has gone.`;
  }
  setTimeout(loop, every);
}
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => repaint([...plots.values()].map((p) => p.plot)));
loop();
