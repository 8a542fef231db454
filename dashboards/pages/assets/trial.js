"use strict";
/* The article about one trial, out of its details. */
const aside = (text) => element("p", { class: "more" }, text);

const section = (title, ...children) => element("section", {}, element("h2", {}, title), children);

const factList = (facts) =>
  element("dl", { class: "facts" }, facts.map(([name, value]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, textOf(value)))));

const sentences = (texts) => element("ul", {}, texts.map((text) => element("li", {}, textOf(text))));

const opinion = (one) => element("li", {}, element("b", {}, `${one.score} `), `${textOf(one.judge)}: ${textOf(one.reason)}`);

function scoreNode(tree) {
  const aside = [`weight ${tree.weight}`, `coverage ${tree.coverage}`];
  const says = [element("p", {}, textOf(tree.requirement))];
  if (tree.reason !== undefined) says.push(element("p", { class: tree.score < 10 && tree.score !== null ? "reason short" : "reason" }, textOf(tree.reason)));
  if (tree.bounds) aside.push(tree.bounds);
  if (tree.verifier !== undefined) aside.push(textOf(tree.verifier));
  if (tree.panel && tree.panel.apart) aside.push(tree.panel.apart);
  says.push(element("p", { class: "aside" }, [tree.id, ...aside].join(" · ")));
  if (tree.panel) says.push(element("ul", { class: "panel" }, tree.panel.opinions.map(opinion)));
  const line = element("div", { class: "node" }, scoreMeter(tree), element("div", {}, says));
  const below = tree.children.map(scoreNode);
  if (tree.more) below.push(element("li", { class: "more" }, `${tree.more} more`));
  const isInner = below.length > 0;
  return element("li", { class: isInner ? "inner" : "leaf" }, line, isInner ? element("ul", {}, below) : null);
}

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

function planStep(step) {
  const tool = step.tool.length ? [element("code", {}, textOf(step.tool)), " "] : null;
  return element("li", {}, tool, textOf(step.purpose));
}

function planVersion(version) {
  return element("div", { class: "plan" },
    element("p", { class: "part" }, version.title),
    version.notes.length ? aside(textOf(version.notes)) : null,
    version.criticism.length ? element("p", { class: "reason" }, "Criticism of the draft: ", textOf(version.criticism)) : null,
    version.fault.length ? element("p", { class: "bad" }, "No plan could be read: ", textOf(version.fault)) : null,
    version.raw.length ? block(version.raw, "prose") : null,
    version.steps.length ? element("ol", {}, version.steps.map(planStep)) : null,
    version.more ? aside(version.more) : null);
}

const caseWords = (title, words) => words.length
  ? [element("p", { class: "part" }, title), words.map(([name, text]) => [element("p", { class: "said" }, name), block(text, "prose")])] : null;

function planningCase(answer) {
  return [factList(answer.facts),
    answer.fault.length ? element("p", { class: "bad" }, "The answer could not be read: ", textOf(answer.fault)) : null,
    answer.flags.length ? [element("p", { class: "part" }, "Errors"), sentences(answer.flags)] : null,
    caseWords("What the planner wrote", answer.said),
    answer.chain.length ? [element("p", { class: "part" }, "Tool chain"), comparison(answer.chain)] : null,
    caseWords("What the reference says", answer.expected),
    answer.rules.length ? [element("p", { class: "part" }, "What every correct answer does"), sentences(answer.rules)] : null];
}

function links(trial) {
  const found = [taskLink(trial.task, "All agents on this task, side by side")];
  if (trial.earlier) found.push(trialLink(trial.earlier, "← The attempt before"));
  for (const { id, arm } of trial.later) {
    found.push(trialLink(id, trial.later.length > 1 ? `The next attempt (${arm}) →` : "The next attempt →"));
  }
  return element("p", { class: "links" }, found);
}

function trialArticle(trial) {
  const files = trial.deliverables.map((file) => deliverable(file, trial.id));
  return [
    element("h1", {}, `${textOf(trial.agent)} on “${textOf(trial.title)}”`),
    links(trial),
    factList(trial.facts),
    trial.errors.length ? section("Error", trial.errors.map((text) => block(text))) : null,
    trial.lost.length ? section("Missing artifacts", sentences(trial.lost)) : null,
    section("Scores", trial.tree ? element("ul", { class: "tree" }, scoreNode(trial.tree)) : aside("Not scored.")),
    trial.end_to_end.length ? section("End to end, atomic tier", factList(trial.end_to_end)) : null,
    trial.steps.length ? section("Steps", comparison(trial.steps)) : null,
    trial.case ? section("Planning case", planningCase(trial.case)) : null,
    trial.diagnosis
      ? section("Diagnosis", factList(trial.diagnosis.facts), sentences(trial.diagnosis.evidence)) : null,
    section("Query", block(trial.query, "prose"),
      trial.asked.length ? [element("p", { class: "part" }, "Asked for"), sentences(trial.asked)] : null),
    trial.inputs.length ? section("Inputs", trial.inputs.map(inputFile),
      trial.more_inputs ? aside(`${trial.more_inputs} more`) : null) : null,
    trial.feedback === null ? null : section("Feedback on the attempt before", block(trial.feedback, "prose")),
    section("Final answer", trial.answer.length ? block(trial.answer, "prose") : aside("None was given.")),
    section("Deliverables", files.length ? files : aside("None was left."),
      trial.refused.length ? [element("p", { class: "part" }, "Refused on collection"), sentences(trial.refused)] : null),
    trial.plan ? section("Plan", factList(trial.plan.facts), trial.plan.versions.map(planVersion)) : null,
    section("Transcript", transcript(trial.transcript, trial.deliverables)),
  ].filter(Boolean);
}
