"use strict";
/* A transcript as numbered turns that fold, with a search over what is shown of it. */
const SPEAKERS = { system: "Instructions", user: "User", simulated_user: "Simulated user", model: "Model", tool: "Tool" };
const OPEN_TURNS = 4;
const LONG_CHARACTERS = 700;
const LONG_LINES = 10;
const EXCERPT = 120;

const lengthOf = (shown) => (Array.isArray(shown) ? shown[0].length + shown[1] : shown.length);

function isLong(shown) {
  const text = Array.isArray(shown) ? shown[0] : shown;
  return lengthOf(shown) > LONG_CHARACTERS || text.split("\n").length > LONG_LINES;
}

function folded(title, shown, className) {
  const size = `${lengthOf(shown).toLocaleString("en")} characters`;
  return element("details", { class: "folded" },
    element("summary", {}, title ? `${title}, ${size}` : size), block(shown, className));
}

function partOf([name, shown], entry) {
  const title = name.length ? textOf(name) : "";
  if (entry.who !== "model" && isLong(shown)) return folded(title, shown);
  return element("div", {}, title ? element("p", { class: "part" }, title) : null, block(shown));
}

const filesShown = (entry) => [
  element("p", { class: "part" }, entry.unseen ? "Described to the model, which was not shown it: " : "Shown to the model itself: ", entry.files.map((file) =>
    element("span", { class: "chip" }, textOf(file.name), element("small", {}, textOf(file.type)))),
    entry.more_files ? ` and ${entry.more_files} more` : null),
  entry.files.map(mediumOf),
];

/* Pictures and recordings that the tool was the last to write, among what was delivered. */
function filesWritten(entry, deliverables) {
  return entry.wrote.map((place) => deliverables[place]).map((file) => {
    const medium = playerOf(file) || pictureOf(file);
    return medium ? element("div", { class: "media" }, element("p", { class: "part" }, `${textOf(file.name)}, as it was delivered`), medium) : null;
  });
}

function eventOf(entry, deliverables) {
  if (entry.who === "gap") return element("p", { class: "more" }, entry.title);
  const title = textOf(entry.title);
  const head = element("h4", {}, title ? `${SPEAKERS[entry.who]}: ${title}` : SPEAKERS[entry.who],
    entry.error ? element("span", { class: "bad" }, entry.error) : null,
    element("span", {}, textOf(entry.facts)));
  const parts = entry.parts.map((part) => partOf(part, entry));
  if (entry.files) parts.push(filesShown(entry));
  if (entry.wrote) parts.push(filesWritten(entry, deliverables));
  if (entry.thinking) parts.unshift(folded("Thinking", entry.thinking, "prose"));
  return element("div", { class: `event ${entry.who}${entry.error ? " failed" : ""}` }, head, parts);
}

function summaryOf(number, entries) {
  const tools = entries.filter((entry) => entry.who === "tool");
  const failed = tools.filter((entry) => entry.error).length;
  const names = tools.map((entry) => textOf(entry.title));
  const said = entries.find((entry) => entry.who === "model" && entry.parts.length);
  return element("summary", {}, element("b", {}, number ? `Turn ${number}` : "Before the first turn"),
    names.length ? element("span", {}, names.join(", ")) : null,
    failed ? element("span", { class: "bad" }, `${failed} failed`) : null,
    said ? element("span", { class: "excerpt" }, textOf(said.parts[0][1]).slice(0, EXCERPT)) : null);
}

/* Entries that belong to one turn stand together: the model's reply and the results of its calls. */
function turnsOf(entries, deliverables) {
  const turns = [];
  for (const entry of entries) {
    const last = turns[turns.length - 1];
    if (last && entry.turn === last.number) last.entries.push(entry);
    else turns.push({ number: entry.turn, entries: [entry] });
  }
  return turns.map(({ number, entries: own }) => {
    const events = own.map((entry) => eventOf(entry, deliverables));
    if (number === null) return events[0];
    return element("details", { class: "turn" }, summaryOf(number, own), events);
  });
}

/* Ranges of every place where `wanted` stands in the texts below `root`; summaries only repeat. */
function placesOf(root, wanted) {
  const found = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (walker.currentNode.parentElement.closest("summary")) continue;
    const text = walker.currentNode.data.toLowerCase();
    // Lower case can be longer than what it was made of, and places would not fit.
    if (text.length !== walker.currentNode.data.length) continue;
    for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
      const range = new Range();
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, at + wanted.length);
      found.push(range);
    }
  }
  return found;
}

function opened(range) {
  for (let node = range.startContainer.parentElement; node; node = node.parentElement) {
    if (node.tagName === "DETAILS") node.open = true;
  }
}

const numberOf = (parts) => (parts === 1 ? "1 part" : `${parts} parts`);

function transcript(entries, deliverables) {
  if (!entries.length) return [element("p", { class: "more" }, "There is none.")];
  const turns = turnsOf(entries, deliverables);
  const fold = (open) => { for (const turn of turns) if (turn.tagName === "DETAILS") turn.open = open; };
  const asFound = () => fold(turns.length <= OPEN_TURNS);
  const box = element("input", { type: "search", placeholder: "a word of it", "aria-label": "Search the transcript" });
  const count = element("output", { "aria-live": "polite" }, numberOf(turns.length));
  const button = (text, open) => {
    const made = element("button", { type: "button" }, text);
    made.addEventListener("click", () => fold(open));
    return made;
  };

  function search() {
    const wanted = box.value.trim().toLowerCase();
    const places = [];
    let matching = 0;
    for (const turn of turns) {
      const here = wanted ? placesOf(turn, wanted) : [];
      turn.hidden = Boolean(wanted) && !here.length;
      matching += here.length > 0;
      places.push(...here);
    }
    if (wanted) places.forEach(opened);
    else asFound();
    if (window.Highlight) CSS.highlights.set("found", new Highlight(...places));
    count.textContent = wanted
      ? `${places.length.toLocaleString("en")} found in ${matching} of ${numberOf(turns.length)}` : numberOf(turns.length);
  }

  asFound();
  box.addEventListener("input", search);
  return [
    element("div", { class: "filters", role: "search" }, element("label", {}, "Search", box),
      button("Open all", true), button("Fold all", false), count),
    ...turns,
  ];
}
