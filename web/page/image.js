// Pictures of charts, to paste where a page can't be: each chart as PNG, on the page's ground and with its caption and legend.

import { canvasOf } from './chart.js';
import { font, ink } from './plot.js';

const ratio = () => devicePixelRatio;
const words = (element) => (element ? element.textContent.trim().replace(/\s+/g, ' ') : '');

// The stores of a chart and their hues: as its legend has them, or that of the charts beside it.
function legendOf(figure, chart) {
  const legend = figure.querySelector('.legend') ?? chart.closest('.phase, .lead')?.querySelector('.legend');
  return chart.dataset.arm || !legend ? [] : [...legend.querySelectorAll('[data-arm]:not(.away)')].map((button) => ({
    name: button.dataset.arm, hue: getComputedStyle(button.querySelector('path')).stroke,
  }));
}

// Lines of a legend that is so wide at most.
function laidOut(ctx, names, width) {
  const lines = [[]];
  let x = 0;
  for (const one of names) {
    const wide = ctx.measureText(one.name).width + 34 * ratio();
    if (x + wide > width && x) { lines.push([]); x = 0; }
    lines.at(-1).push({ ...one, x });
    x += wide;
  }
  return lines.filter((line) => line.length);
}

export function pictureOf(figure, chart) {
  const drawn = canvasOf(chart);
  if (!drawn) return null;
  const scale = ratio();
  const picture = document.createElement('canvas');
  const ctx = picture.getContext('2d');
  ctx.font = font(11 * scale);
  const lines = laidOut(ctx, legendOf(figure, chart), drawn.width);
  const head = (26 + 16 * lines.length) * scale;
  picture.width = drawn.width;
  picture.height = drawn.height + head;
  ctx.fillStyle = ink('paper');
  ctx.fillRect(0, 0, picture.width, picture.height);
  ctx.textBaseline = 'middle';
  ctx.fillStyle = ink('ink');
  ctx.font = font(12 * scale);
  const phase = words(chart.closest('.phase')?.querySelector('h3'));
  ctx.fillText([document.querySelector('h1').textContent, phase, words(figure.querySelector('figcaption'))].filter(Boolean).join(' · '), 8 * scale, 13 * scale, picture.width - 16 * scale);
  ctx.font = font(11 * scale);
  lines.forEach((line, row) => {
    const y = (30 + 16 * row) * scale;
    for (const one of line) {
      ctx.fillStyle = one.hue;
      ctx.fillRect(one.x + 8 * scale, y - scale, 16 * scale, 2 * scale);
      ctx.fillText(one.name, one.x + 28 * scale, y);
    }
  });
  ctx.drawImage(drawn, 0, head);
  return picture;
}

// Each large chart has a button that saves it.
export function offerImages() {
  for (const chart of document.querySelectorAll('figure > .plot.tall')) {
    const figure = chart.parentNode;
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'PNG';
    button.title = 'Save this chart as an image';
    button.addEventListener('click', () => {
      const picture = pictureOf(figure, chart);
      if (!picture) return;
      const name = [document.title.split(':')[0], words(chart.closest('.phase')?.querySelector('h3')), chart.dataset.kind].filter(Boolean).join('-').replace(/[^\w.-]+/g, '-');
      Object.assign(document.createElement('a'), { href: picture.toDataURL('image/png'), download: `${name}.png` }).click();
    });
    const tools = document.createElement('p');
    tools.className = 'tools';
    tools.append(button);
    chart.after(tools);
  }
}
