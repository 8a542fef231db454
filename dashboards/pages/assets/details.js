"use strict";
/* Shows one trial in place of the overview while the address ends in #trial-<id>. */
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const packed = read("trial-details");
  const pictures = read("pictures");
  const overview = document.getElementById("overview");
  const place = document.getElementById("trial");
  let scrolled = 0;

  async function unpack(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).json();
  }

  const section = (title, ...children) => element("section", {}, element("h2", {}, title), children);

  const factList = (facts) =>
    element("dl", { class: "facts" }, facts.map(([name, value]) =>
      element("div", {}, element("dt", {}, name), element("dd", {}, textOf(value)))));

  const sentences = (texts) => element("ul", {}, texts.map((text) => element("li", {}, textOf(text))));

  function node(tree) {
    const aside = [`weight ${tree.weight}`, `coverage ${tree.coverage}`];
    const says = [element("p", {}, textOf(tree.requirement))];
    if (tree.reason !== undefined) says.push(element("p", { class: tree.score < 10 && tree.score !== null ? "reason short" : "reason" }, textOf(tree.reason)));
    if (tree.verifier !== undefined) aside.push(textOf(tree.verifier));
    says.push(element("p", { class: "aside" }, [tree.id, ...aside].join(" · ")));
    const line = element("div", { class: "node" }, scoreMeter(tree.score), element("div", {}, says));
    const below = tree.children.map(node);
    if (tree.more) below.push(element("li", { class: "more" }, `${tree.more} more`));
    const isInner = below.length > 0;
    return element("li", { class: isInner ? "inner" : "leaf" }, line, isInner ? element("ul", {}, below) : null);
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
    if (part.kind === "text") return element("div", {}, title, block(part.text, "prose"));
    return element("div", {}, title,
      element("div", { class: "scroll", tabindex: "0" }, tableOf(part.rows)),
      part.more ? element("p", { class: "more" }, part.more) : null);
  }

  function picture(file) {
    if (!file.picture) return null;
    if (!Object.hasOwn(pictures, file.picture)) {
      return element("p", { class: "more" }, "There was no room for its picture on this page.");
    }
    return pngImage(pictures[file.picture], `Preview of ${textOf(file.name)}`);
  }

  const deliverable = (file) =>
    element("div", { class: "file" },
      element("h4", {}, textOf(file.name), element("span", {}, file.facts)),
      picture(file), file.blocks.map(previewOf));

  const NAMES = { system: "Instructions", user: "User", model: "Model", tool: "Tool" };

  const filesShown = (entry) =>
    element("p", { class: "part" }, "Shown to the model itself: ", entry.files.map(([name, type]) =>
      element("span", { class: "chip" }, textOf(name), element("small", {}, textOf(type)))),
      entry.more_files ? ` and ${entry.more_files} more` : null);

  const thoughts = (text) =>
    element("details", { class: "thoughts" }, element("summary", {}, "Thinking"), block(text, "prose"));

  const said = ([what, text]) => [element("p", { class: "said" }, textOf(what)), text.length ? block(text) : null];

  function mark([name, holds]) {
    const [sign, kind, words] = holds === null ? ["–", "", `${name}: not scored`] : holds ? ["✓", "good", name] : ["✗", "bad", `not: ${name}`];
    return element("li", { class: kind, "aria-label": words }, `${sign} ${name}${holds === null ? ", not scored" : ""}`);
  }

  function comparison(steps) {
    const head = ["", "Reference", "Predicted", "Found"].map((name) => element("th", { scope: "col" }, name));
    const rows = steps.map((step) => step.more ? element("tr", {}, element("td", {}), element("td", { class: "more" }, step.more)) :
      element("tr", {}, element("th", { scope: "row" }, step.place),
        element("td", {}, said(step.expected)),
        element("td", {}, said(step.predicted), step.error.length ? element("p", { class: "bad" }, textOf(step.error)) : null),
        element("td", {}, element("ul", { class: "marks" }, step.marks.map(mark)))));
    return element("div", { class: "scroll", tabindex: "0" },
      element("table", { class: "steps" }, element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows)));
  }

  function event(entry) {
    if (entry.who === "gap") return element("p", { class: "more" }, entry.title);
    const title = textOf(entry.title);
    const head = element("h4", {}, title ? `${NAMES[entry.who]}: ${title}` : NAMES[entry.who],
      entry.error ? element("span", { class: "bad" }, entry.error) : null,
      element("span", {}, textOf(entry.facts)));
    const parts = entry.parts.map(([name, text]) =>
      element("div", {}, name.length ? element("p", { class: "part" }, textOf(name)) : null, block(text)));
    const isLong = entry.who === "system";
    if (entry.files) parts.push(filesShown(entry));
    if (entry.thinking) parts.unshift(thoughts(entry.thinking));
    const content = isLong ? [element("details", {}, element("summary", {}, "Show"), parts)] : parts;
    return element("div", { class: `event ${entry.who}${entry.error ? " failed" : ""}` }, head, content);
  }

  function links(trial) {
    const found = [];
    if (trial.earlier) found.push(trialLink(trial.earlier, "← The attempt before"));
    for (const trialId of trial.later) found.push(trialLink(trialId, "The next attempt →"));
    return found.length ? element("p", { class: "links" }, found) : null;
  }

  function build(trial) {
    const none = (text) => element("p", { class: "more" }, text);
    const files = trial.deliverables.map(deliverable);
    return [
      element("h1", {}, `${textOf(trial.agent)} on “${textOf(trial.title)}”`),
      links(trial),
      factList(trial.facts),
      trial.errors.length ? section("Error", trial.errors.map((text) => block(text))) : null,
      trial.lost.length ? section("Missing artifacts", sentences(trial.lost)) : null,
      section("Scores", trial.tree ? element("ul", { class: "tree" }, node(trial.tree)) : none("Not scored.")),
      trial.steps.length ? section("Steps", comparison(trial.steps)) : null,
      trial.diagnosis
        ? section("Diagnosis", factList(trial.diagnosis.facts), sentences(trial.diagnosis.evidence)) : null,
      section("Query", block(trial.query, "prose"),
        trial.asked.length ? [element("p", { class: "part" }, "Asked for"), sentences(trial.asked)] : null),
      trial.feedback === null ? null : section("Feedback on the attempt before", block(trial.feedback, "prose")),
      section("Final answer", trial.answer.length ? block(trial.answer, "prose") : none("None was given.")),
      section("Deliverables", files.length ? files : none("None was left."),
        trial.refused.length ? [element("p", { class: "part" }, "Refused on collection"), sentences(trial.refused)] : null),
      section("Transcript", trial.transcript.length ? trial.transcript.map(event) : none("There is none.")),
    ].filter(Boolean);
  }

  async function contentOf(trialId) {
    if (!Object.hasOwn(packed, trialId)) {
      const advice = `No details of ${trialId} are on this page; nightshift show ${trialId} --transcript has them.`;
      return [element("p", { class: "notice" }, advice)];
    }
    try {
      return build(await unpack(packed[trialId]));
    } catch (error) {
      return [element("p", { class: "notice bad" }, `The details cannot be shown by this browser: ${error}`)];
    }
  }

  /* Back to where the reader was: to the section asked for, else to the row of the trial. */
  function showOverview(left) {
    place.hidden = true;
    overview.hidden = false;
    dispatchEvent(new Event("resize"));
    const section = document.getElementById(location.hash.slice(1));
    if (section && location.hash !== "#trials") return section.scrollIntoView();
    const row = Array.from(document.querySelectorAll("table.trials a")).find((link) => link.hash === left);
    row?.focus({ preventScroll: true });
    return scrolled ? scrollTo(0, scrolled) : (row || overview).scrollIntoView({ block: "center" });
  }

  async function showTrial(hash) {
    if (!overview.hidden) scrolled = scrollY;
    const content = await contentOf(hash.slice("#trial-".length));
    if (location.hash !== hash) return;
    const back = element("a", { class: "back" }, "← All trials");
    back.href = "#trials";
    place.replaceChildren(back, ...content);
    overview.hidden = true;
    place.hidden = false;
    scrollTo(0, 0);
    place.focus({ preventScroll: true });
  }

  let shown = "";
  async function route() {
    const left = shown;
    shown = location.hash;
    if (shown.startsWith("#trial-")) await showTrial(shown);
    else if (overview.hidden) showOverview(left);
  }

  addEventListener("hashchange", route);
  route();
})();
