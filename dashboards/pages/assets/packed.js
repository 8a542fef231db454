"use strict";
/* A page that carries everything: Plotly is unpacked when the first figure wants it. */
let plotlyOnce = null;

async function unpackPlotly() {
  const script = document.createElement("script");
  script.textContent = await unpacked(document.getElementById("plotly").textContent).text();
  document.head.append(script);
}

const withPlotly = () => (plotlyOnce ??= unpackPlotly());
