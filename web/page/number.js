// Numbers as the tables write them: three significant digits and an SI prefix. Package format is the same in Go.

const prefixes = [[1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n']];

export function si(value, unit = '') {
  if (value === 0 || !Number.isFinite(value)) return `${value} ${unit}`.trim();
  for (let i = 0; i < prefixes.length; i++) {
    let [factor, sign] = prefixes[i];
    let rounded = Number((value / factor).toPrecision(3));
    const last = (factor === 1 && unit === '') || factor === 1e-9;
    if (Math.abs(rounded) < 1 && !last) continue;
    if (Math.abs(rounded) >= 1000 && i > 0) {
      [factor, sign] = prefixes[i - 1];
      rounded = Number((value / factor).toPrecision(3));
    }
    return `${digits3(rounded)} ${sign}${unit}`.trim();
  }
}

function digits3(value) {
  const size = Math.abs(value);
  const decimals = size === 0 || size >= 100 ? 0 : 2 - Math.floor(Math.log10(size));
  return value.toFixed(Math.min(decimals, 6));
}

export const rateText = (perSecond) => (perSecond === 0 ? '0/s' : `${si(perSecond)}/s`);
export const latencyText = (ns) => si(ns / 1e9, 's');

// Labels on an axis: no digits that say nothing.
export function tick(value, unit = '') {
  if (value === 0) return '0';
  return si(value, unit).replace(/(\.\d*?)0+(?=\D|$)/, '$1').replace(/\.(?=\D|$)/, '');
}

// A value of a series that stands beside the rate, in the series' own unit.
export function resourceText(value, unit) {
  if (unit === 'share') return `${(value * 100).toFixed(1)} %`;
  if (unit === 'cores') return `${Number(value.toPrecision(3))} ${value === 1 ? 'core' : 'cores'}`;
  if (unit === 'ms') return si(value / 1e3, 's');
  if (unit === 'B' || unit === 'B/s' || unit === 's') return si(value, unit);
  return unit === '1/s' ? rateText(value) : si(value);
}

export function resourceTick(value, unit) {
  if (value === 0) return '0';
  if (unit === 'share') return `${Number((value * 100).toPrecision(3))} %`;
  if (unit === 'ms') return tick(value / 1e3, 's');
  if ((unit === 'B' || unit === 'B/s') && value < 1) return ''; // there is no part of a byte
  return unit === 'B' || unit === 'B/s' || unit === 's' ? tick(value, unit) : tick(value);
}
