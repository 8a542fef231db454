"use strict";
/* The trials of one task side by side, of agents, rounds and arms: scores leaf by leaf, feedback,
   answers and deliverables. */
const trialsOfTask = (taskId) =>
  Array.from(document.querySelectorAll("table.trials tbody tr"))
    .filter((row) => row.dataset.task === taskId)
    .map((row) => ({
      id: row.dataset.trial, agent: row.dataset.agent, named: row.querySelector(".agent"),
      round: row.dataset.round, arm: row.dataset.arm, repetition: row.dataset.repetition,
    }));

/* The leaves of a tree in order, or the nodes where it was cut. */
function leavesOf(tree) {
  return tree.children.length ? tree.children.flatMap(leavesOf) : [tree];
}

function leafRows(columns) {
  const requirements = new Map();
  for (const { trial } of columns) {
    if (!trial || !trial.tree) continue;
    for (const leaf of leavesOf(trial.tree)) if (!requirements.has(leaf.id)) requirements.set(leaf.id, leaf.requirement);
  }
  return Array.from(requirements, ([id, requirement]) => {
    const cell = ({ trial }) => {
      const leaf = trial && trial.tree ? leavesOf(trial.tree).find((found) => found.id === id) : null;
      if (!leaf) return element("td", {}, "–");
      const full = leaf.score === null || leaf.score === 10;
      return element("td", {}, scoreMeter(leaf),
        leaf.reason === undefined || full ? null : element("p", { class: "why" }, textOf(leaf.reason)));
    };
    return compareRow(textOf(requirement), columns, cell);
  });
}

const compareRow = (name, columns, cell, kind) =>
  element("tr", { class: kind || "" }, element("th", { scope: "row" }, name), columns.map(cell));

function compareTable(columns) {
  const known = (show) => ({ trial }) => element("td", {}, trial ? show(trial) : "–");
  const fact = (trial, name) => { const found = trial.facts.find(([own]) => own === name); return found ? textOf(found[1]) : "–"; };
  const rounds = new Set(columns.map(({ round }) => round));
  const repetitions = new Set(columns.map(({ repetition }) => repetition));
  const arms = new Set(columns.map(({ arm }) => arm).filter(Boolean));
  const among = ({ round, arm, repetition }) => [
    rounds.size > 1 ? (round === "0" ? "first attempt" : `refinement round ${round}`) : "",
    arm && arms.size > 1 ? `arm ${arm}` : "",
    repetitions.size > 1 ? `repetition ${repetition}` : "",
  ].filter(Boolean).join(", ");
  const heads = columns.map((column) => element("th", { scope: "col" },
    trialLink(column.id, column.named.cloneNode(true)), among(column) ? element("small", {}, among(column)) : null));
  const root = ({ trial }) =>
    element("td", {}, trial && trial.tree ? scoreMeter(trial.tree) : trial ? "not scored" : "no details on this page");
  return element("table", { class: "compare" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, ""), heads)),
    element("tbody", {},
      compareRow("Root score", columns, root, "root"),
      leafRows(columns),
      columns.some(({ trial }) => trial && trial.feedback !== null)
        ? compareRow("Feedback on the attempt before", columns, known((trial) => (trial.feedback === null ? "–" : block(trial.feedback, "prose")))) : [],
      ["State", "Effort", "Time", "Cost"].map((name) => compareRow(name, columns, known((trial) => fact(trial, name)))),
      compareRow("Final answer", columns, known((trial) => (trial.answer.length ? block(trial.answer, "prose") : aside("None was given.")))),
      compareRow("Deliverables", columns, known((trial) => (trial.deliverables.length
        ? trial.deliverables.map((file) => deliverable(file, trial.id)) : aside("None was left."))))));
}

function choiceOf(title, values, chosen, change) {
  if (values.length < 2) return null;
  const select = element("select", {}, values.map((value) => element("option", { value }, value)));
  select.value = chosen;
  select.addEventListener("change", () => change(select.value));
  return element("label", {}, title, select);
}

const ALL = "all";
const withAll = (values) => (values.length > 1 ? [...values, ALL] : values);

async function taskArticle(taskId, agents) {
  const rank = new Map(embedded("ranking").map((agent, place) => [agent, place]));
  const trials = trialsOfTask(taskId).sort((a, b) =>
    rank.get(a.agent) - rank.get(b.agent) || a.repetition - b.repetition || a.round - b.round || a.arm.localeCompare(b.arm));
  if (!trials.length) return [element("p", { class: "notice" }, `This run has no trial of the task ${taskId}.`)];
  const distinct = (field) => Array.from(new Set(trials.map((trial) => trial[field]))).sort((a, b) => a - b);
  const arms = Array.from(new Set(trials.map(({ arm }) => arm).filter(Boolean))).sort();
  const names = [ALL, ...new Set(trials.map((trial) => trial.agent))];
  const named = (agent) => (names.includes(agent) ? agent : ALL);
  const chosen = {
    round: distinct("round")[0], arm: ALL, repetition: distinct("repetition")[0],
    left: named(agents[0]), right: named(agents[1]),
  };
  const isChosen = (trial) => [chosen.left, chosen.right].some((agent) => agent === ALL || agent === trial.agent);
  const isAt = (trial, field) => chosen[field] === ALL || trial[field] === chosen[field];
  const isInArm = (trial) => trial.arm === "" || isAt(trial, "arm");
  const columnsOf = () => Promise.all(trials
    .filter((trial) => isChosen(trial) && isAt(trial, "round") && isInArm(trial) && isAt(trial, "repetition"))
    .map(async (trial) => ({ ...trial, trial: isEmbedded("trial-details", trial.id) ? await detailsOf(trial.id) : null })));
  const place = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Trials side by side" });
  const draw = async () => place.replaceChildren(compareTable(await columnsOf()));
  const choose = (field) => (value) => { chosen[field] = value; draw(); };
  await draw();
  const first = (await columnsOf()).find(({ trial }) => trial)?.trial;
  const choices = [
    choiceOf("Round", withAll(distinct("round")), chosen.round, choose("round")),
    choiceOf("Arm", withAll(arms), chosen.arm, choose("arm")),
    choiceOf("Repetition", withAll(distinct("repetition")), chosen.repetition, choose("repetition")),
    names.length > 3 ? choiceOf("Agent", names, chosen.left, choose("left")) : null,
    names.length > 3 ? choiceOf("and agent", names, chosen.right, choose("right")) : null,
  ].filter(Boolean);
  return [
    element("h1", {}, `All agents on “${first ? textOf(first.title) : taskId}”`),
    first ? element("details", {}, element("summary", {}, "What was asked"), block(first.query, "prose")) : null,
    choices.length ? element("div", { class: "filters" }, choices) : null,
    place,
  ].filter(Boolean);
}
