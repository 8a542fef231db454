"use strict";
/* What a figure shows as a table, a CSV file and a picture. */
(() => {
  const holder = document.getElementById("tables");
  if (!holder) return;
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures");
  const tables = read("tables");
  const themes = read("figure-themes");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const boxes = Array.from(document.querySelectorAll("[data-figure]"));

  /* Only ways to other pages of these folders are followed, never an address with a scheme. */
  const isInside = (link) => typeof link === "string" && /^[A-Za-z0-9._%~#/-]+$/.test(link) && !link.startsWith("/");

  /* A text that a spreadsheet would take for a formula gets an apostrophe before it. */
  function csvCell(value) {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const text = /^[\s]*[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  }

  const csvOf = ({ columns, rows }) =>
    [columns, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";

  function save(content, type, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([content], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  const nameOf = (name) => {
    const page = location.pathname.split("/").pop().replace(/\.html$/, "") || "index";
    return `${page}-${name}`;
  };

  async function savePicture(name) {
    const box = boxes.find((found) => found.dataset.figure === name);
    const { data, layout } = figures[name];
    const paper = getComputedStyle(document.body).backgroundColor;
    const theme = dark.matches ? themes.dark : themes.light;
    const picture = { data, layout: { ...layout, template: theme, paper_bgcolor: paper } };
    const size = { width: Math.max(box.clientWidth, 640), height: layout.height, scale: 2 };
    if (typeof withPlotly === "function") await withPlotly();
    const url = await Plotly.toImage(picture, { format: "png", ...size });
    const bytes = Uint8Array.from(atob(url.split(",")[1]), (character) => character.charCodeAt(0));
    save(bytes, "image/png", `${nameOf(name)}.png`);
  }

  function made(tag, ...children) {
    const element = document.createElement(tag);
    element.append(...children);
    return element;
  }

  const shownCell = (value) => {
    if (value === null) return "–";
    return typeof value === "number" && !Number.isInteger(value) ? String(Number(value.toPrecision(4))) : String(value);
  };

  function firstCell(text, link) {
    if (!isInside(link)) return text;
    const anchor = made("a", text);
    anchor.href = link;
    return anchor;
  }

  function tableOf({ columns, rows, links }) {
    const body = rows.map((row, place) => made("tr", ...row.map((value, column) => {
      const cell = made("td", column === 0 ? firstCell(shownCell(value), links[place]) : shownCell(value));
      if (typeof value === "number") cell.className = "number";
      return cell;
    })));
    const head = made("tr", ...columns.map((name) => made("th", name)));
    return made("table", made("thead", head), made("tbody", ...body));
  }

  function toggleTable(name, button) {
    const place = document.querySelector(`[data-table="${name}"]`);
    if (!place.firstChild) place.append(tableOf(tables[name]));
    place.hidden = !place.hidden;
    button.setAttribute("aria-expanded", String(!place.hidden));
  }

  const EXPORTS = {
    csv: (name) => save(csvOf(tables[name]), "text/csv;charset=utf-8", `${nameOf(name)}.csv`),
    png: savePicture,
    table: toggleTable,
  };
  for (const button of document.querySelectorAll("[data-export]")) {
    button.addEventListener("click", () => EXPORTS[button.dataset.export](button.dataset.of, button));
  }
})();
