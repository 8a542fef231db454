"use strict";
/* Draws every figure when it first comes into view; shows, saves and prints its numbers. */
(() => {
  const holder = document.getElementById("figures");
  if (!holder) return;
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures");
  const tables = read("tables");
  const themes = read("figure-themes");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const narrow = matchMedia("(max-width: 640px)");
  const theme = () => (dark.matches ? themes.dark : themes.light);
  const boxes = Array.from(document.querySelectorAll("[data-figure]"));
  const drawn = new Set();

  /* Only ways to other pages of these folders are followed, never an address with a scheme. */
  const isInside = (link) => typeof link === "string" && /^[A-Za-z0-9._%~#/?&=-]+$/.test(link) && !link.startsWith("/");

  /* A point has its way as the second of its data, or the row of the table that has it; a bar may
     have it among those of its series. */
  function follow(name, event) {
    const point = event.points[0];
    const data = point.customdata;
    const link = point.data.meta?.links?.[point.pointIndex] ??
      (Number.isInteger(data) ? tables[name].links[data] : Array.isArray(data) ? data[1] : null);
    if (isInside(link)) location.href = link;
  }

  function draw(box) {
    const { data, layout } = figures[box.dataset.figure];
    drawn.add(box);
    const shown = { ...layout, template: theme() };
    if (narrow.matches) shown.dragmode = false;
    Plotly.newPlot(box, data, shown, { displayModeBar: false, responsive: true });
    box.on("plotly_click", (event) => follow(box.dataset.figure, event));
  }

  /* One a task, so that a reader sees the first before the next is begun. */
  let turn = Promise.resolve();
  const pause = () => new Promise((resolve) => setTimeout(resolve));
  function drawInTurn(box) {
    turn = turn.then(() => drawn.has(box) || draw(box)).then(pause);
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        seen.unobserve(entry.target);
        drawInTurn(entry.target);
      }
    }
  }, { rootMargin: "400px" });
  for (const box of boxes) seen.observe(box);

  dark.addEventListener("change", () => {
    for (const box of drawn) Plotly.relayout(box, { template: theme() });
  });
  /* Paper is narrower than the screen, and how wide it is cannot be asked: as wide as `.figure` is
     in print. */
  const PAPER = 700;
  addEventListener("beforeprint", () => {
    for (const box of boxes) if (!drawn.has(box)) draw(box);
    for (const box of drawn) Plotly.relayout(box, { template: themes.light, width: PAPER });
  });
  addEventListener("afterprint", () => {
    for (const box of drawn) Plotly.relayout(box, { template: theme(), width: null, autosize: true });
  });
})();
