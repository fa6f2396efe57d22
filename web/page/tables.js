// The tables of the report as text: to paste into a spreadsheet, an issue or a pull request.

// A cell's words: what stands beneath a figure comes behind it, and a bar has none.
function textOf(cell) {
  const parts = [...cell.childNodes].map((node) => (node.nodeType === Node.ELEMENT_NODE && node.classList.contains('track') ? '' : node.textContent.trim()));
  return parts.filter(Boolean).join(' ').replace(/\s+/g, ' ');
}

const quoted = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

function rowsOf(table, cellText) {
  const heads = [...table.tHead.rows].at(-1);
  const kept = [...heads.cells].map((head, i) => textOf(head) || [...table.tBodies[0].rows].some((row) => row.cells[i] && textOf(row.cells[i])));
  return [heads, ...table.tBodies[0].rows].map((row) => [...row.cells].filter((_, i) => kept[i]).map(cellText));
}

// Figures as the numbers that rows are sorted by, in the base unit; other cells as they stand.
export const csv = (table) => rowsOf(table, (cell) => quoted(cell.dataset.sort ?? textOf(cell))).map((row) => row.join(',')).join('\n') + '\n';

export function markdown(table) {
  const [heads, ...rows] = rowsOf(table, (cell) => textOf(cell).replaceAll('|', '\\|'));
  const right = heads.map((_, i) => i > 0 && rows.some((row) => /^[\d–±×]/.test(row[i] ?? '')));
  return [heads, right.map((is) => (is ? '--:' : ':--')), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n') + '\n';
}
