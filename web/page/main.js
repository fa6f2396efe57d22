// The report's page: every number is in its tables already; this draws the charts, folds what is long, and copies commands.

import { drawShown, fit, focus, repaint } from './chart.js';

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
  const target = id && document.getElementById(decodeURIComponent(id));
  for (let e = target; e; e = e.parentElement) if (e.tagName === 'DETAILS') e.open = true;
  if (target) target.scrollIntoView();
}
reveal(location.hash.slice(1));
addEventListener('hashchange', () => reveal(location.hash.slice(1)));

drawShown();
let frame = 0; // many parts may be opened at once
const fitSoon = () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(() => fit()); };
document.addEventListener('toggle', fitSoon, true);
addEventListener('resize', fitSoon);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);

document.addEventListener('click', async ({ target }) => {
  const link = target.closest('a[href^="#"]');
  if (link) reveal(link.hash.slice(1));
  const copy = target.closest('[data-copy]');
  if (copy) await copyText(copy);
});

for (const button of all('.legend button')) {
  const chart = button.closest('figure').querySelector('.plot');
  const { table } = chart.dataset;
  const hover = (arm) => () => focus(table, arm);
  button.addEventListener('pointerenter', hover(button.dataset.arm));
  button.addEventListener('pointerleave', hover(null));
  button.addEventListener('focus', hover(button.dataset.arm));
  button.addEventListener('blur', hover(null));
  button.addEventListener('click', () => {
    const on = button.getAttribute('aria-pressed') !== 'true';
    for (const other of all(`.legend button`)) if (other.closest('.phase') === button.closest('.phase')) other.setAttribute('aria-pressed', 'false');
    button.setAttribute('aria-pressed', String(on));
    focus(table, on ? button.dataset.arm : null);
  });
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
    const down = head.getAttribute('aria-sort') === 'descending';
    for (const other of head.parentNode.cells) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', down ? 'ascending' : 'descending');
    const words = [...body.rows].every((row) => row.cells[at].dataset.sort === undefined);
    const key = (row) => Number(row.cells[at].dataset.sort ?? -Infinity);
    const rows = [...body.rows].sort((a, b) => words
      ? a.cells[at].textContent.localeCompare(b.cells[at].textContent)
      : key(b) - key(a) || 0);
    body.append(...(down ? rows.reverse() : rows));
  };
  head.addEventListener('click', sort);
  head.addEventListener('keydown', sort);
}

async function copyText(button) {
  const source = button.previousElementSibling;
  let done = 'Copied';
  try {
    await navigator.clipboard.writeText(source.textContent);
  } catch {
    // A page from a file may not write to the clipboard: select the text, so that one key copies it.
    getSelection().selectAllChildren(source);
    if (!document.execCommand('copy')) done = 'Selected';
  }
  button.textContent = done;
  setTimeout(() => { button.textContent = 'Copy'; }, 1500);
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
