"use strict";
const form = document.querySelector("form");

// A row is shown where it fits each filter; a section where a row of it is left.
const filter = () => {
  const want = Object.fromEntries(new FormData(form));
  const text = want.text.toLowerCase();
  for (const section of document.querySelectorAll("section")) {
    let left = 0;
    for (const row of section.querySelectorAll("tbody tr")) {
      const shown =
        (!want.machine || section.dataset.machine === want.machine) &&
        (!want.class || row.dataset.class === want.class) &&
        (!want.metric || row.dataset.metric === want.metric) &&
        (row.cells[3].textContent + " " + row.cells[4].textContent).toLowerCase().includes(text);
      row.hidden = !shown;
      left += shown ? 1 : 0;
    }
    section.hidden = left === 0;
  }
};
form.addEventListener("input", filter);
form.addEventListener("submit", (event) => event.preventDefault());

// A click on a heading sorts by that column, numbers from the largest and words from A; a second one
// turns the order round.
for (const head of document.querySelectorAll("th")) {
  head.addEventListener("click", () => {
    const at = head.cellIndex;
    const body = head.closest("table").tBodies[0];
    const key = (row) => row.cells[at].dataset.sort;
    const numbers = [...body.rows].some((row) => key(row) !== undefined);
    const [first, second] = numbers ? ["descending", "ascending"] : ["ascending", "descending"];
    const order = head.getAttribute("aria-sort") === first ? second : first;
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    const rows = [...body.rows].sort((a, b) =>
      numbers ? Number(key(a)) - Number(key(b)) : a.cells[at].textContent.localeCompare(b.cells[at].textContent),
    );
    body.append(...(order === "descending" ? rows.reverse() : rows));
  });
}
