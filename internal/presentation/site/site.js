"use strict";
const form = document.querySelector("form");

// A row is shown where it fits each filter, a table where a row of it is left, a section where a table is.
const filter = () => {
  const want = { class: "", machine: "", ...Object.fromEntries(new FormData(form)) };
  const text = want.text.toLowerCase();
  for (const section of document.querySelectorAll("section")) {
    let tables = 0;
    for (const table of section.querySelectorAll(".grid")) {
      let rows = 0;
      for (const row of table.querySelectorAll("tbody tr")) {
        row.hidden = !row.cells[0].textContent.toLowerCase().includes(text);
        rows += row.hidden ? 0 : 1;
      }
      const fits = table.dataset.metric === want.metric && (!want.class || table.dataset.class === want.class);
      table.hidden = !fits || rows === 0;
      tables += table.hidden ? 0 : 1;
    }
    section.hidden = tables === 0 || (want.machine !== "" && section.dataset.machine !== want.machine);
  }
  for (const one of document.querySelectorAll(".absolute")) one.hidden = form.elements.relative.checked;
  for (const one of document.querySelectorAll(".ratio")) one.hidden = !form.elements.relative.checked;
};

// What was chosen stands in the address, so that a link shows the same.
const keep = () => {
  const chosen = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
  history.replaceState(null, "", "#" + chosen);
};
for (const [name, value] of new URLSearchParams(location.hash.slice(1))) {
  const field = form.elements[name];
  if (field && field.type === "checkbox") field.checked = true;
  else if (field) field.value = value;
}
form.addEventListener("input", () => (filter(), keep()));
form.addEventListener("submit", (event) => event.preventDefault());
filter();

// The heading of figures turns their order round: best first, or last.
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const body = button.closest("table").tBodies[0];
    body.append(...[...body.rows].reverse());
  });
}
