// What every chart over time is drawn with, in the report and on the page of a run that goes on: inks, axes, what a rate reads.

import { tick } from './number.js';

export const face = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
export const font = (px) => `${px}px ${face}`;

// Colours come from the style sheet, which knows the scheme; the probe resolves them.
const probe = document.body.appendChild(document.createElement('i'));
probe.hidden = true;
const inks = new Map();
export function ink(name) {
  if (!inks.has(name)) {
    probe.style.color = `var(--${name})`;
    inks.set(name, getComputedStyle(probe).color);
  }
  return inks.get(name);
}

// Draws all plots again in the colours of another scheme.
export function repaint(plots) {
  inks.clear();
  for (const plot of plots) plot.redraw(false, true);
}

export const axis = (px, more) => ({ stroke: () => ink('ink-2'), font: font(px), grid: { stroke: () => ink('rule'), width: 1, ...more.grid }, ticks: { show: false }, gap: 4, ...more });
export const seconds = (v) => `${v} s`;
export const rateTick = (v) => (v === 0 ? '0' : `${tick(v)}/s`);
