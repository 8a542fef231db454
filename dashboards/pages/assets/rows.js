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

  const narrowed = document.getElementById("narrowed");
  const groups = JSON.parse(document.getElementById("failure-groups")?.textContent || "{}");
  const NAMES = {
    agent: "agent", model: "model", harness: "harness", category: "category", deliverable_type: "deliverable",
    leaves: "leaves", stage: "failed at", type: "type of failure", level: "failing level",
    failed: "a requirement that does not hold at level",
  };
  let conditions = [];

  /* A condition is about what the row says of its trial, else about a group of its task or agent. */
  function holds(row, [name, value]) {
    const { task, agent } = row.dataset;
    const own = row.dataset[name];
    if (value === "*") return Boolean(own);
    if (name === "level" || name === "failed") return (own || "").split(" ").includes(value);
    if (own !== undefined && name !== "task") return own === value;
    const known = groups.tasks?.[task]?.[name] || groups.agents?.[agent]?.[name] || [];
    return known.includes(value);
  }

  function inWords([name, value]) {
    if (name === "cluster") return groups.causes?.[value] || "a cause that this page does not have";
    if (name === "round") return value === "0" ? "first attempts" : `round ${value}`;
    if (name === "competing") return "controls left out";
    if (value === "*") return "failed";
    return `${NAMES[name] || name} ${value.replaceAll("_", " ")}`;
  }

  /* The address may ask for the trials of a figure: #trials?stage=plan&agent=... */
  function narrow() {
    if (!narrowed || !location.hash.startsWith("#trials?")) return;
    const asked = Array.from(new URLSearchParams(location.hash.slice("#trials?".length)));
    const wanted = Number((asked.find(([name]) => name === "n") || [])[1]);
    conditions = asked.filter(([name]) => name !== "n");
    for (const filter of filters) filter.value = "";
    apply();
    const count = rows.filter((row) => !row.hidden).length;
    const missing = wanted > count ? `; ${wanted - count} more are not on this page` : "";
    const all = document.createElement("button");
    all.type = "button";
    all.textContent = "Show all trials";
    all.addEventListener("click", () => {
      conditions = [];
      narrowed.hidden = true;
      apply();
      history.replaceState(null, "", "#trials");
      filters[0].focus();
    });
    narrowed.replaceChildren(`${count} ${noun}${missing}: ${conditions.map(inWords).join("; ")}. `, all);
    narrowed.hidden = conditions.length === 0;
    document.getElementById("trials").scrollIntoView();
    if (conditions.length) narrowed.focus({ preventScroll: true });
  }

  function apply() {
    const words = filters.find((f) => f.dataset.filter === "text").value.toLowerCase().split(/\s+/);
    const chosen = filters.filter((f) => f.dataset.filter !== "text" && f.selectedIndex > 0);
    let count = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      const fits = chosen.every((f) => row.dataset[f.dataset.filter] === f.value);
      row.hidden = !(fits && words.every((word) => text.includes(word)) && conditions.every((one) => holds(row, one)));
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
  if (narrowed) {
    addEventListener("hashchange", narrow);
    narrow();
  }
})();
