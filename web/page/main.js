// The report's page: the server side has written every number into tables and bars; this draws the plots, and copies and saves data.

import { looksOf } from './palette.js';
import { percentilePlot } from './percentiles.js';
import { drawAll, fit, repaint } from './plot.js';
import { timePlots } from './timeplot.js';

const text = document.getElementById('report-data').textContent;
const view = JSON.parse(text);
const looks = looksOf(view);
const root = document.documentElement;

for (const table of view.tables) {
  const section = document.getElementById(table.id);
  for (const figure of section.querySelectorAll('[data-plot=time]')) timePlots(table, looks, figure, view.resources || []);
  for (const figure of section.querySelectorAll('[data-plot=nines]')) percentilePlot(table, looks, figure);
}
for (const place of document.querySelectorAll('[data-arm]')) {
  const look = looks.get(place.dataset.arm);
  if (!look) continue;
  place.style.setProperty('--hue', `var(--arm-${look.hue})`);
  place.classList.toggle('hatched', look.dash.length > 0);
}

// Theme: the system's, until the reader chooses.
const remembered = { get: () => { try { return localStorage.getItem('assay-theme'); } catch { return null; } }, set: (v) => { try { localStorage.setItem('assay-theme', v); } catch { /* a page from a file may have no storage: the choice then lasts as long as the page */ } } };
const systemDark = matchMedia('(prefers-color-scheme: dark)');
const themeButton = document.getElementById('theme');
const isDark = () => (root.dataset.theme ? root.dataset.theme === 'dark' : systemDark.matches);
function setTheme(theme) {
  if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
  themeButton.textContent = isDark() ? 'Light' : 'Dark';
  themeButton.setAttribute('aria-label', isDark() ? 'Use the light theme' : 'Use the dark theme');
  repaint();
}
themeButton.addEventListener('click', () => { const theme = isDark() ? 'light' : 'dark'; remembered.set(theme); setTheme(theme); });
systemDark.addEventListener('change', () => setTheme(root.dataset.theme));
setTheme(remembered.get());

// Paper is white, as wide as a page, and shows everything.
let themeBefore;
const evidence = [...document.querySelectorAll('.findings details')];
addEventListener('beforeprint', () => {
  themeBefore = root.dataset.theme;
  setTheme('light');
  for (const details of evidence) details.open = true;
  drawAll();
  fit(680);
});
addEventListener('afterprint', () => { setTheme(themeBefore); for (const details of evidence) details.open = false; fit(); });

function save(name, body, type) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([body], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
for (const button of document.querySelectorAll('[data-save]')) {
  button.addEventListener('click', () => {
    const table = view.tables.find((t) => t.id === button.dataset.save);
    const stem = `assay-${view.runs.map((run) => run.id).join('-')}`;
    if (table) save(`${stem}-${table.id}.json`, JSON.stringify(table, null, 1), 'application/json');
    else save(`${stem}.json`, text, 'application/json');
  });
}
for (const button of document.querySelectorAll('[data-copy]')) {
  button.addEventListener('click', async () => {
    const source = document.getElementById(button.dataset.copy);
    let copied = true;
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      // Pages from files may not write to the clipboard by script: select the text, so that one key copies it.
      getSelection().selectAllChildren(source);
      copied = document.execCommand('copy');
    }
    const before = button.textContent;
    button.textContent = copied ? 'Copied' : 'Selected';
    setTimeout(() => { button.textContent = before; }, 1500);
  });
}

// A navigation that is wider than its place fades where it goes on, and has a button for each way.
const bar = document.querySelector('nav ul');
const ways = [...document.querySelectorAll('nav .along')];
function showMore() {
  const before = bar.scrollLeft > 2;
  const after = bar.scrollLeft + bar.clientWidth < bar.scrollWidth - 2;
  bar.classList.toggle('more-before', before);
  bar.classList.toggle('more-after', after);
  for (const button of ways) button.disabled = !(button.dataset.along < 0 ? before : after);
}
function fitBar() {
  for (const button of ways) button.hidden = true;
  if (bar.scrollWidth > bar.clientWidth + 2) for (const button of ways) button.hidden = false;
  showMore();
}
for (const button of ways) button.addEventListener('click', () => bar.scrollBy({ left: Number(button.dataset.along) * bar.clientWidth * 0.8, behavior: 'smooth' }));
bar.addEventListener('scroll', showMore, { passive: true });
addEventListener('resize', fitBar);
fitBar();

// The place in the page, in the navigation.
const links = new Map([...document.querySelectorAll('nav a')].map((a) => [a.hash.slice(1), a]));
const place = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    for (const link of links.values()) link.removeAttribute('aria-current');
    const link = links.get(target.id);
    link.setAttribute('aria-current', 'true');
    link.closest('ul').scrollTo({ left: link.offsetLeft - 80 });
  }
}, { rootMargin: '-12% 0px -80% 0px' });
for (const id of links.keys()) place.observe(document.getElementById(id));
