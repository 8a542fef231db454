"use strict";
/* Filters and sorts a long table, such as that of the trials. */
(() => {
  const table = document.querySelector("table.trials, table.filtered");
  if (!table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const noun = table.dataset.noun || "trials";
  const filters = Array.from(document.querySelectorAll("[data-filter]"));
  if (!filters.length) return;
  const matching = document.getElementById("matching");

  function apply() {
    const words = filters.find((f) => f.dataset.filter === "text").value.toLowerCase().split(/\s+/);
    const chosen = filters.filter((f) => f.dataset.filter !== "text" && f.selectedIndex > 0);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits = chosen.every((f) => row.dataset[f.dataset.filter] === f.value);
      row.hidden = !(fits && words.every((word) => text.includes(word)));
      if (!row.hidden) count += 1;
    }
    matching.textContent = count === rows.length ? `${count} ${noun}` : `${count} of ${rows.length} ${noun}`;
  }

  function key(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.value !== undefined) return cell.dataset.value === "" ? null : Number(cell.dataset.value);
    return cell.textContent.trim();
  }

  function sort(button) {
    const head = button.closest("th");
    const ascending = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    const column = Number(button.dataset.sort);
    const keyed = rows.map((row) => [key(row, column), row]);
    keyed.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      const order = typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
      return ascending ? order : -order;
    });
    body.append(...keyed.map(([, row]) => row));
  }

  for (const filter of filters) filter.addEventListener("input", apply);
  filters[0].form.addEventListener("submit", (event) => event.preventDefault());
  for (const button of table.querySelectorAll("[data-sort]")) {
    button.addEventListener("click", () => sort(button));
  }
  apply();
})();
