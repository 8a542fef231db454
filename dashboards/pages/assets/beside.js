"use strict";
/* A page with files beside it: the copy of Plotly that all pages share, and what trials left behind.
   They are scripts, for a page that is opened from a file can load nothing else. */
const loading = new Map();
const parts = new Map();

/* Called by the scripts of `files/` and `pages/`, with base64 and nothing else. */
globalThis.nightshiftPart = (path, text) => parts.set(path, text);

/* Resolves once the script at a path relative to this page has run. */
function loaded(path) {
  if (!loading.has(path)) {
    const script = document.createElement("script");
    loading.set(path, new Promise((resolve, reject) => {
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => reject(new Error(`${path} is not beside this page`)));
    }));
    script.src = path;
    document.head.append(script);
  }
  return loading.get(path);
}

const withPlotly = () => loaded(document.body.dataset.plotly);

async function partBeside(path) {
  await loaded(path);
  return parts.get(path);
}
