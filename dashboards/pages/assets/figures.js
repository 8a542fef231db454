"use strict";
/* Draws every figure when it first comes into view, in the colours the reader's system asks for. */
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures");
  const themes = read("figure-themes");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => (dark.matches ? themes.dark : themes.light);
  const drawn = new Set();

  /* A bar may lead to its trials on this page. */
  function follow(event) {
    const { data, pointIndex } = event.points[0];
    const link = data.meta?.links?.[pointIndex];
    if (typeof link === "string" && link.startsWith("#trials?")) location.hash = link;
  }

  function draw(box) {
    const { data, layout } = figures[box.dataset.figure];
    drawn.add(box);
    Plotly.newPlot(box, data, { ...layout, template: theme() }, { displayModeBar: false, responsive: true });
    box.on("plotly_click", follow);
  }

  async function drawWithPlotly(box) {
    try {
      await withPlotly();
    } catch (error) {
      box.textContent = `No figure: ${error.message}. nightshift report --output writes a page that needs nothing beside it.`;
      return;
    }
    if (!drawn.has(box)) draw(box);
  }

  /* One a task, so that a reader sees the first before the next is begun. */
  let turn = Promise.resolve();
  const pause = () => new Promise((resolve) => setTimeout(resolve));
  function drawInTurn(box) {
    turn = turn.then(() => drawWithPlotly(box)).then(pause);
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        seen.unobserve(entry.target);
        drawInTurn(entry.target);
      }
    }
  }, { rootMargin: "400px" });
  for (const box of document.querySelectorAll("[data-figure]")) seen.observe(box);

  dark.addEventListener("change", () => {
    for (const box of drawn) Plotly.relayout(box, { template: theme() });
  });
  /* Paper is narrower than the screen, and how wide it is cannot be asked: as wide as `.figure` is
     in print. */
  const PAPER = 700;
  addEventListener("beforeprint", () => {
    if (!globalThis.Plotly) return;
    for (const box of document.querySelectorAll("[data-figure]")) if (!drawn.has(box)) draw(box);
    for (const box of drawn) Plotly.relayout(box, { template: themes.light, width: PAPER });
  });
  addEventListener("afterprint", () => {
    for (const box of drawn) Plotly.relayout(box, { template: theme(), width: null, autosize: true });
  });
})();
