// Latency against the share of operations that took longer, a decade a step: the nines.

import { latencyText, tick } from './number.js';
import { faded, hue } from './palette.js';
import { axis, decades, labelEnds, roomForLabels, show, whenSeen } from './plot.js';

const names = new Map([[0.5, 'p50'], [0.9, 'p90'], [0.99, 'p99'], [0.999, 'p99.9'], [0.9999, 'p99.99'], [1, 'max']]);
// Places on the axis: −log₁₀ of the share above, and the maximum one step after the last nine.
const places = new Map([[0.5, 0.301], [0.9, 1], [0.99, 2], [0.999, 3], [0.9999, 4], [1, 5]]);
const nameAt = new Map([...places].map(([q, place]) => [place, names.get(q)]));

export function percentilePlot(table, looks, root) {
  const element = root.querySelector('.nines');
  const readout = root.querySelector('.readout');
  const rows = table.rows.filter((row) => row.latency && row.latency.length && !looks.get(row.arm).aside);
  const columns = [...places.keys()];
  const data = [[...places.values()], ...rows.map((row) => columns.map((q) => {
    const point = row.latency.find((p) => p.q === q);
    return point ? point.ns : null;
  }))];
  whenSeen(element, () => {
    show({
      height: Number(element.dataset.height) || 260,
      padding: [8, roomForLabels(rows.map((row) => row.arm), element), 0, 0],
      cursor: { drag: { x: false, y: false }, y: false, points: { size: 5 } },
      scales: {
        x: { time: false, range: () => [0.15, 5] },
        y: { distr: 3, range: (u, min, max) => [10 ** Math.floor(Math.log10(min || 1)), 10 ** Math.ceil(Math.log10(max || 10))] },
      },
      axes: [
        axis({ splits: () => [...places.values()], values: (u, at) => at.map((place) => nameAt.get(place)), space: 10, size: 26 }),
        axis({ filter: decades, grid: { filter: decades }, values: (u, ticks) => ticks.map((v) => (v == null ? '' : tick(v / 1e9, 's'))), size: 54 }),
      ],
      series: [{}, ...rows.map((row) => {
        const look = looks.get(row.arm);
        const colour = () => faded(hue(look), row.standing === 'ranked' ? 1 : 0.45);
        // What has too few operations for a percentile goes on to its maximum; what is refused leaves a gap.
        return { label: row.arm, stroke: colour, width: 1.5, dash: look.dash, spanGaps: !row.latency_refused, points: { show: true, size: 4, fill: colour, stroke: colour } };
      })],
      hooks: {
        draw: [(u) => labelEnds(u, rows.map((row, i) => ({ text: row.arm, y: u.valToPos(data[i + 1][columns.length - 1], 'y', true), colour: hue(looks.get(row.arm)) })))],
        setCursor: [(u) => {
          const place = u.cursor.idx;
          readout.textContent = place == null ? '' : `${names.get(columns[place])}: ${rows.map((row, i) => (data[i + 1][place] == null ? '' : `${row.arm} ${latencyText(data[i + 1][place])}`)).filter(Boolean).join(' · ')}`;
        }],
      },
    }, data, element);
  });
}
