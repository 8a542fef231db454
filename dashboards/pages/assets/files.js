"use strict";
/* Deliverables of a trial: previews, pictures of their pages, players and downloads.
   What an agent made leaves this page only as a download of bytes without a type, or as a recording
   under one of the types below: never as a document that a browser would open. */
const RECORDINGS = {
  wav: ["audio", "audio/wav"], mp3: ["audio", "audio/mpeg"], ogg: ["audio", "audio/ogg"],
  flac: ["audio", "audio/flac"], m4a: ["audio", "audio/mp4"],
  mp4: ["video", "video/mp4"], webm: ["video", "video/webm"],
};
const embeddedJson = new Map();

/* Parsed when first asked for: these elements hold megabytes that most readers never need. */
function embedded(id) {
  if (!embeddedJson.has(id)) embeddedJson.set(id, JSON.parse(document.getElementById(id).textContent));
  return embeddedJson.get(id);
}

const isEmbedded = (id, key) => Boolean(key) && Object.hasOwn(embedded(id), key);

/* What is kept is here as text, or, where there is a 1 in its place, in a script beside the page. */
async function kept(id, sha256) {
  const text = embedded(id)[sha256];
  return text === 1 ? partBeside(`${id}/${sha256}.js`) : text;
}

const fileOf = async (sha256) => unpacked(await kept("files", sha256));

const detailsOf = (trialId) => unpacked(embedded("trial-details")[trialId]).json();

async function objectUrl(sha256, type) {
  const bytes = await (await fileOf(sha256)).arrayBuffer();
  return URL.createObjectURL(new Blob([bytes], { type }));
}

async function save(file) {
  const link = element("a", {});
  link.href = await objectUrl(file.sha256, "application/octet-stream");
  link.download = file.save_as;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

const howToSave = (trialId) => ["; to get it: ", element("code", {}, `nightshift show ${trialId} --save FOLDER`)];

function downloadOf(file, otherwise) {
  if (!file.sha256) return null;
  if (!isEmbedded("files", file.sha256)) {
    return element("p", { class: "more" }, "Not kept in this page, for its size", otherwise);
  }
  const button = element("button", { type: "button", class: "download" }, `Download ${file.save_as}`);
  button.addEventListener("click", () => save(file));
  return button;
}

function playerOf(file) {
  if (!file.recording || !Object.hasOwn(RECORDINGS, file.recording) || !isEmbedded("files", file.sha256)) return null;
  const [tag, type] = RECORDINGS[file.recording];
  const player = element(tag, { controls: "", "aria-label": `Play ${textOf(file.name)}` });
  objectUrl(file.sha256, type).then((url) => { player.src = url; });
  player.addEventListener("error", () => {
    player.replaceWith(element("p", { class: "more" }, "This browser cannot play the recording."));
  });
  return player;
}

function pictureOf(file) {
  if (!file.picture || file.pages.length) return null;
  if (!isEmbedded("pictures", file.picture)) {
    return element("p", { class: "more" }, "There was no room for its picture on this page.");
  }
  return pngImage(embedded("pictures")[file.picture], `Preview of ${textOf(file.name)}`);
}

function pagesOf(file) {
  if (!file.pages.length) return null;
  const there = file.pages.filter((sha256) => isEmbedded("pages", sha256));
  const pictures = there.map((sha256) => {
    const number = file.pages.indexOf(sha256) + 1;
    const picture = element("img", { alt: `Page ${number} of ${textOf(file.name)}` });
    kept("pages", sha256).then((base64) => showPng(picture, base64));
    picture.addEventListener("click", () => picture.classList.toggle("large"));
    return picture;
  });
  const missing = file.pages.length - there.length;
  return [
    pictures.length ? element("div", { class: "sheets", tabindex: "0" }, pictures) : null,
    missing ? element("p", { class: "more" }, `There was no room on this page for the pictures of ${missing} of its pages.`) : null,
    file.pages_note ? element("p", { class: "more" }, file.pages_note) : null,
  ];
}

function tableOf(rows) {
  const line = (cells, tag) => element("tr", {}, cells.map((cell) => element(tag, {}, textOf(cell))));
  const [head, ...rest] = rows;
  return element("table", {},
    head ? element("thead", {}, line(head, "th")) : null,
    element("tbody", {}, rest.map((cells) => line(cells, "td"))));
}

function previewOf(part) {
  if (part.kind === "note") return element("p", { class: "more" }, textOf(part.text));
  const title = part.title && part.title.length ? element("p", { class: "part" }, textOf(part.title)) : null;
  if (part.kind === "code") return element("div", {}, title, block(part.text, "code"));
  if (part.kind === "text") return element("div", {}, title, block(part.text, "prose"));
  return element("div", {}, title,
    element("div", { class: "scroll", tabindex: "0" }, tableOf(part.rows)),
    part.more ? element("p", { class: "more" }, part.more) : null);
}

/* The text of a file whose pages are seen as pictures is there, but folded. */
function textPreviewOf(file) {
  const blocks = file.blocks.map(previewOf);
  const seen = file.pages.some((sha256) => isEmbedded("pages", sha256));
  if (!seen || !blocks.length) return blocks;
  return element("details", {}, element("summary", {}, "What the checks read of it"), blocks);
}

function deliverable(file, trialId) {
  return element("div", { class: "file" },
    element("h4", {}, textOf(file.name), element("span", {}, file.facts)),
    downloadOf(file, howToSave(trialId)), playerOf(file), pictureOf(file), pagesOf(file), textPreviewOf(file));
}

/* Pictures that a browser reads without running anything; SVG is none of them. */
const PICTURES = {
  png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp",
};
const TEXTS = new Set(["csv", "tsv", "txt", "md", "json", "jsonl", "yaml", "yml", "html", "xml", "py", "eml"]);
const TEXT_CHARACTERS = 20000;

const endingOf = (file) => file.save_as.split(".").pop().toLowerCase();

async function dataUrl(sha256, type) {
  const bytes = await (await fileOf(sha256)).arrayBuffer();
  return new Promise((resolve) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result));
    reader.readAsDataURL(new Blob([bytes], { type }));
  });
}

/* A picture or a recording that this page holds, as it is; null of anything else. */
function mediumOf(file) {
  if (!isEmbedded("files", file.sha256)) return null;
  const player = playerOf(file);
  if (player) return element("div", { class: "media" }, player);
  if (!Object.hasOwn(PICTURES, endingOf(file))) return null;
  const picture = element("img", { alt: textOf(file.name) });
  dataUrl(file.sha256, PICTURES[endingOf(file)]).then((url) => { picture.src = url; });
  return element("div", { class: "media" }, picture);
}

/* The text of a file, read when somebody asks for it. */
function textOfFile(file) {
  if (!TEXTS.has(endingOf(file)) || !isEmbedded("files", file.sha256)) return null;
  const folded = element("details", {}, element("summary", {}, "Look at it"));
  folded.addEventListener("toggle", async () => {
    if (folded.children.length > 1) return;
    const text = await (await fileOf(file.sha256)).text();
    const more = text.length - TEXT_CHARACTERS;
    folded.append(block(more > 0 ? [text.slice(0, TEXT_CHARACTERS), more] : text));
  });
  return folded;
}

/* A file that the task gave to the agent. */
function inputFile(file) {
  return element("div", { class: "file" },
    element("h4", {}, textOf(file.name), element("span", {}, file.facts)),
    downloadOf(file, "."), mediumOf(file), textOfFile(file));
}
