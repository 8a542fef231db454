"use strict";
/* Elements out of texts. Nothing here can make markup, a foreign link or a handler out of a text:
   attributes are few and checked, children are text nodes or elements. */
const ATTRIBUTES = new Set(["class", "id", "open", "tabindex", "min", "max", "value", "alt", "scope", "aria-label",
  "aria-live", "role", "type", "placeholder", "controls", "colspan"]);

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (ATTRIBUTES.has(name)) made.setAttribute(name, value);
    else throw new Error(`attribute ${name} is not one this page sets`);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

function trialLink(trialId, text) {
  const link = element("a", {}, text);
  link.href = "#trial-" + encodeURIComponent(trialId);
  return link;
}

function taskLink(taskId, text) {
  const link = element("a", {}, text);
  link.href = "#task-" + encodeURIComponent(taskId);
  return link;
}

function pngImage(base64, alternative) {
  const image = element("img", { alt: alternative });
  showPng(image, base64);
  return image;
}

function showPng(image, base64) {
  image.src = "data:image/png;base64," + base64;
}

/* A shown text is a string, or [its beginning, how many characters more there are]. */
function textOf(shown) {
  return Array.isArray(shown) ? `${shown[0]} … ${shown[1].toLocaleString("en")} more characters` : shown;
}

function block(shown, className) {
  if (!Array.isArray(shown)) return element("pre", { class: className || "", tabindex: "0" }, shown);
  const more = element("span", { class: "more" }, `\n… ${shown[1].toLocaleString("en")} more characters`);
  return element("pre", { class: className || "", tabindex: "0" }, shown[0], more);
}

function scoreMeter({ score, unscored }) {
  if (score === null) return element("span", { class: "value" }, unscored || "unscored");
  const meter = element("meter", { min: "0", max: "10", value: String(score) });
  return element("span", { class: "value" }, meter, score.toFixed(2));
}
