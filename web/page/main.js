// The report's page: every number is in its tables already; this draws the charts, folds what is long, and copies commands and tables.

import { offerImages } from './image.js';
import { drawShown, fit, focus, logged, repaint, view } from './chart.js';
import { anchor, read, write } from './state.js';
import { csv, markdown } from './tables.js';

const all = (selector) => [...document.querySelectorAll(selector)];
const root = document.documentElement;

// A long page has its sections folded, the least important first, and the strongest class last of all.
const longMax = 10_000; // pixels
const first = document.querySelector('.fold .phase');
const own = first && first.parentNode;
const steps = [
  all('main > .fold').filter((fold) => fold !== own),
  all('.phase').filter((fold) => fold !== first),
  all('.figures:has([data-kind=rate]) ~ .part'), // without it, a part has the only chart of the rate
];
for (const step of steps) if (root.scrollHeight > longMax) for (const fold of step) fold.open = false;

function reveal(id) {
  const target = id && document.getElementById(id);
  for (let e = target; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
  if (target) target.scrollIntoView();
}
const begun = read(); // before anything writes
reveal(anchor());
addEventListener('hashchange', () => reveal(anchor()));

drawShown();
let frame = 0; // many parts may be opened at once
const fitSoon = () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(() => fit()); };
document.addEventListener('toggle', fitSoon, true);
addEventListener('resize', fitSoon);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);

document.addEventListener('click', async ({ target }) => {
  const link = target.closest('a[href^="#"]');
  if (link) reveal(decodeURIComponent(link.hash.slice(1)));
  const copy = target.closest('[data-copy]');
  if (copy) await copyText(copy, copy.previousElementSibling.textContent, copy.previousElementSibling);
});

// Each table can be taken along as text.
for (const table of all('.scroll > table')) {
  const tools = document.createElement('p');
  tools.className = 'tools';
  for (const [name, of] of [['CSV', csv], ['Markdown', markdown]]) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name;
    button.title = `Copy this table as ${name}`;
    button.addEventListener('click', () => copyText(button, of(table)));
    tools.append(button);
  }
  table.parentNode.after(tools);
}

offerImages();

const state = { pin: [], hide: [], scale: [] };
const put = (name, table, value) => {
  state[name] = state[name].filter(([of]) => of !== table);
  for (const one of [value].flat()) if (one) state[name].push([table, one]);
  write(state);
};

const away = new Map(); // table → the arms that are hidden in its charts
const chosen = new Map(); // table → the scale of its charts
for (const [table, arm] of begun.hide) away.set(table, (away.get(table) ?? new Set()).add(arm));
for (const [table, scale] of begun.scale) chosen.set(table, scale);

for (const legend of all('.legend')) {
  const chart = legend.closest('figure').querySelector('.plot');
  const { table } = chart.dataset;
  const buttons = [...legend.querySelectorAll('button')];
  if (!away.has(table)) away.set(table, new Set());
  const hidden = away.get(table);
  const pin = (button) => {
    for (const other of all('.legend button[data-arm]')) if (other.closest('.phase') === legend.closest('.phase')) other.setAttribute('aria-pressed', String(other === button));
    put('pin', table, button && button.dataset.arm);
    focus(table, button ? button.dataset.arm : null);
  };
  const redraw = () => {
    for (const other of all('.legend')) { // the first chart of the page has a legend of its own
      if (other.closest('figure').querySelector('.plot').dataset.table !== table) continue;
      for (const button of other.querySelectorAll('[data-arm]')) button.classList.toggle('away', hidden.has(button.dataset.arm));
    }
    put('hide', table, [...hidden]);
    put('scale', table, chosen.get(table));
    view(table, hidden, chosen.get(table));
  };
  for (const button of buttons) {
    const { arm } = button.dataset;
    const hover = (on) => () => focus(table, on);
    button.title = 'Click: single out. Shift and click: hide or show.';
    button.addEventListener('pointerenter', hover(arm));
    button.addEventListener('pointerleave', hover(null));
    button.addEventListener('focus', hover(arm));
    button.addEventListener('blur', hover(null));
    button.addEventListener('click', (event) => {
      if (event.shiftKey) {
        if (!hidden.delete(arm) && hidden.size + 1 < buttons.length) hidden.add(arm);
        redraw();
        return;
      }
      pin(button.getAttribute('aria-pressed') === 'true' ? null : button);
    });
  }
  if (chart.dataset.kind === 'rate') {
    const toggle = document.createElement('button');
    toggle.type = 'button';
    toggle.className = 'scale';
    const name = () => { toggle.textContent = logged(chart) ? 'Linear scale' : 'Log scale'; };
    toggle.addEventListener('click', () => {
      chosen.set(table, logged(chart) ? 'linear' : 'log');
      redraw();
      name();
    });
    legend.append(toggle);
    if (chosen.has(table) || hidden.size) redraw();
    name();
  }
  const pinned = begun.pin.find(([of]) => of === table);
  const kept = pinned && buttons.find((button) => button.dataset.arm === pinned[1]);
  if (kept) pin(kept);
}

// A click, or Enter, on a heading sorts by that column; a second one turns the order round.
for (const head of all('.grid thead th, .phase thead th')) {
  if (!head.textContent.trim()) continue;
  head.classList.add('sortable');
  head.tabIndex = 0;
  const sort = (event) => {
    if (event.target.closest('a') || event.key && event.key !== 'Enter') return;
    const at = head.cellIndex;
    const body = head.closest('table').tBodies[0];
    const now = head.getAttribute('aria-sort');
    const rising = now ? now === 'descending' : head.dataset.best === 'low'; // the best stands first
    for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', rising ? 'ascending' : 'descending');
    const words = [...body.rows].every((row) => row.cells[at].dataset.sort === undefined);
    const key = (row) => (row.cells[at].dataset.sort === undefined ? null : Number(row.cells[at].dataset.sort));
    const sign = rising ? 1 : -1;
    body.append(...[...body.rows].sort((a, b) => {
      if (words) return -sign * a.cells[at].textContent.localeCompare(b.cells[at].textContent);
      const [one, other] = [key(a), key(b)];
      if (one === null || other === null) return (one === null) - (other === null); // what was not measured is last
      return sign * (one - other);
    }));
  };
  head.addEventListener('click', sort);
  head.addEventListener('keydown', sort);
}

// copyText puts text on the clipboard; source: the element that shows it, if one does.
async function copyText(button, text, source) {
  const name = button.textContent;
  let done = 'Copied';
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from a file may not write to the clipboard: select the text, so that one key copies it.
    const shown = source ?? document.body.appendChild(Object.assign(document.createElement('pre'), { textContent: text }));
    getSelection().selectAllChildren(shown);
    if (!document.execCommand('copy')) done = 'Selected';
    if (!source) shown.remove();
    if (!source && done !== 'Copied') done = 'Not allowed';
  }
  button.textContent = done;
  setTimeout(() => { button.textContent = name; }, 1500);
}

// Paper is light, as wide as a page, and shows all but the series that are not shown at first.
let folded = [];
addEventListener('beforeprint', () => {
  folded = all('details:not([open], .more)');
  for (const fold of folded) fold.open = true;
  root.classList.add('paper');
  repaint();
  fit();
});
addEventListener('afterprint', () => {
  root.classList.remove('paper');
  for (const fold of folded) fold.open = false;
  repaint();
  fit();
});
