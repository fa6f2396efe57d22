// One look per arm, the same in every figure. Eight hues that stay apart for colour-blind readers by hue or by lightness
// (after Okabe and Ito 2008, darkened to 3:1 on paper); the ninth arm begins again with dashes. CSS holds the hues, so that themes can change them.

const hues = 8;
const dashes = [[], [7, 3], [2, 3]];

export function looksOf(view) {
  const looks = new Map();
  let next = 0;
  const look = (arm, role) => {
    if (looks.has(arm)) return;
    if (role === 'ceiling') looks.set(arm, { hue: 'reference', dash: [2, 3], aside: true });
    else if (role === 'a/a') {
      const twin = looks.get(arm.replace(/ \(A\/A\)$/, ''));
      looks.set(arm, { hue: twin ? twin.hue : 'reference', dash: [4, 4], aside: true });
    } else {
      looks.set(arm, { hue: next % hues, dash: dashes[Math.floor(next / hues) % dashes.length], aside: false });
      next++;
    }
  };
  const rows = view.tables.flatMap((table) => table.rows);
  for (const trial of view.trials) if (trial.role === 'measured') look(trial.arm, trial.role);
  for (const row of rows) if (row.role === 'measured') look(row.arm, row.role);
  for (const row of rows) look(row.arm, row.role);
  return looks;
}

export const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const hue = (look) => ink(`arm-${look.hue}`);

export function faded(colour, alpha) {
  const n = parseInt(colour.slice(1), 16);
  return `rgba(${n >> 16}, ${(n >> 8) & 255}, ${n & 255}, ${alpha})`;
}

// A line in an arm's look, for legends and table rows.
export function swatch(look) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 20 8');
  svg.setAttribute('class', 'swatch');
  svg.setAttribute('aria-hidden', 'true');
  const line = document.createElementNS(svg.namespaceURI, 'path');
  line.setAttribute('d', 'M0 4H20');
  line.setAttribute('stroke', `var(--arm-${look.hue})`);
  line.setAttribute('stroke-width', '2.4');
  line.setAttribute('fill', 'none');
  if (look.dash.length) line.setAttribute('stroke-dasharray', look.dash.map((d) => d * 0.8).join(' '));
  svg.append(line);
  return svg;
}
