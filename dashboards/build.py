"""The dashboard of a run: one self-contained HTML page, or a page with files beside it."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from dashboards.figures.capabilities import capabilities
from dashboards.figures.effort import effort
from dashboards.figures.failures import failures
from dashboards.figures.grouped_estimates import grouped_estimates
from dashboards.figures.headline import headline
from dashboards.figures.planning import ERRORS
from dashboards.figures.refinement import refinement
from dashboards.figures.steps import steps_against_success
from dashboards.figures.success_curve import success_curve
from dashboards.figures.task_scores import TaskScore, task_scores
from dashboards.figures.timings import timings
from dashboards.index import ListedJudge
from dashboards.pages.answers import answers
from dashboards.pages.causes import cluster_rows
from dashboards.pages.detail_tables import detail_tables
from dashboards.pages.distributions import distributions
from dashboards.pages.gain_rows import gain_rows
from dashboards.pages.lost_trials import lost_trials
from dashboards.pages.page import FILES_BYTES, PAGE_BYTES, drawn_figures, embedded, page
from dashboards.pages.pairs import pairs
from dashboards.pages.planning import planning_figures, planning_tables
from dashboards.pages.trial.caps import Cap
from dashboards.pages.trial.details import Details, details
from dashboards.pages.trial.packing import pack, pack_files, pack_pages, pack_pictures
from dashboards.pages.trial_filter import groups_on_page
from dashboards.pages.trial_rows import MOST_CLUSTERS, trial_rows, trials_on_page
from dashboards.site.document import PLOTLY, morning_page
from dashboards.theme import PALETTE, AgentStyle, agent_styles
from taskdata.schema.failures import RunFailures
from taskdata.schema.night import Morning
from taskdata.schema.ranking import controls, ranked
from taskdata.schema.reservations import reservations
from taskdata.schema.run import TrialResult
from taskdata.schema.summary import AgentSummary, RunSummary
from taskdata.schema.task import Task
from taskdata.store import Store

_PICTURES = 0.3
"""Part of the room for details that is kept for pictures."""
_PAGES = 0.6
"""Part of the room for files that is kept for pictures of their pages."""
BESIDE = ("pages", "files")
"""What a page may have beside it."""


class RunPage(NamedTuple):
    """A run's page, and what it loads when a reader asks for it."""

    html: str
    beside: Mapping[str, str]
    """Scripts by their path relative to the page: deliverables and pictures of their pages."""


def build(
    store: Store,
    summary: RunSummary,
    data_docs: Collection[str] = (),
    morning: Morning | None = None,
    results: Sequence[TrialResult] | None = None,
    judge_cards: Sequence[ListedJudge] = (),
    run_failures: RunFailures | None = None,
) -> str:
    """Return the dashboard of a run as an HTML page that needs nothing but a browser.

    Args:
        store: Where the run's trials, transcripts and views are.
        summary: The run's numbers as they are to be shown.
        data_docs: Gates whose Data Docs are beside the page, as `write_gate_docs` returns them.
        morning: What the run means against the nights before; None: nobody has compared it.
        results: Of all its trials; None: they are read from the store.
        judge_cards: Of the run's judges, whose pages are in `judges/` beside `runs/`.
        run_failures: Why first attempts failed; None: the page has the labels of agents only.

    Raises:
        Misuse: if the run is not in the store.
    """
    context, data, files = _contents(
        store, summary, data_docs, morning, results, judge_cards, run_failures, None
    )
    return page(context, data | files)


def build_beside(
    store: Store,
    summary: RunSummary,
    site: str,
    data_docs: Collection[str] = (),
    morning: Morning | None = None,
    results: Sequence[TrialResult] | None = None,
    judge_cards: Sequence[ListedJudge] = (),
    run_failures: RunFailures | None = None,
) -> RunPage:
    """Return the dashboard of a run as a page that shares Plotly with the site; as `build`.

    Args:
        store: As for `build`.
        summary: As for `build`.
        site: Folder of the pages over all nights, relative to the page.
        data_docs: As for `build`.
        morning: As for `build`.
        results: As for `build`.
        judge_cards: As for `build`.
        run_failures: As for `build`.

    Raises:
        Misuse: if the run is not in the store.
    """
    plotly = f"{site}/{PLOTLY}"
    context, data, files = _contents(
        store, summary, data_docs, morning, results, judge_cards, run_failures, plotly
    )
    if morning is not None:
        context["morning_page"] = f"{site}/{morning_page(summary.run.id)}"
    beside = {
        f"{kind}/{sha256}.js": f'nightshiftPart("{kind}/{sha256}.js", "{text}");\n'
        for kind in BESIDE
        for sha256, text in files[kind].items()
    }
    there = {kind: dict.fromkeys(files[kind], 1) for kind in BESIDE}
    return RunPage(page(context, data | there, plotly=plotly), beside)


def _contents(
    store: Store,
    summary: RunSummary,
    data_docs: Collection[str],
    morning: Morning | None,
    results: Sequence[TrialResult] | None,
    judge_cards: Sequence[ListedJudge],
    run_failures: RunFailures | None,
    plotly: str | None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, dict[str, str]]]:
    """Return what the template shows, what the scripts read, and packed files by kind."""
    results = store.results(summary.run.id) if results is None else results
    tasks = store.tasks_of_run(summary.run.id)
    apart = {agent.agent for agent in controls(summary.agents)}
    styles = agent_styles([agent.agent for agent in summary.agents], apart)
    ordered = (*ranked(summary.agents), *controls(summary.agents))
    styles = {agent.agent: styles[agent.agent] for agent in ordered}
    clusters = () if run_failures is None else run_failures.clusters
    listed = trials_on_page(results, clusters=clusters)
    drawn = _figures(summary, ordered, results, styles)
    context = {
        "morning_page": None,
        "run": summary.run,
        "summary": summary,
        "agents": ordered,
        "competing": ranked(summary.agents),
        "controls": controls(summary.agents),
        "styles": styles,
        "answers": answers(summary, results, morning),
        "reservations": reservations(summary),
        "pairs": pairs(summary.comparisons, apart),
        "lost": lost_trials(results),
        "rows": trial_rows(listed, tasks, summary.run.success, run_failures),
        "clusters": None if run_failures is None else cluster_rows(clusters, morning),
        "more_clusters": max(0, len(clusters) - MOST_CLUSTERS),
        "distributions": [] if run_failures is None else distributions(run_failures, list(styles)),
        "trials": len(results),
        "gates": summary.gates,
        "data_docs": data_docs,
        "judge_cards": judge_cards,
        "detail_tables": detail_tables(ordered),
        "gains": gain_rows(summary.refinement),
        "plans": summary.planning,
        "plan_tables": planning_tables(summary.planning),
        "plan_errors": ERRORS,
        "refined_styles": {gain.agent: styles[gain.agent] for gain in summary.refinement},
        "heights": {name: figure.layout.height for name, figure in drawn.items()},
    }
    data: dict[str, Any] = {
        **drawn_figures(drawn),
        "ranking": [agent.agent for agent in ordered],
        "failure-groups": {} if run_failures is None else groups_on_page(run_failures),
        "trial-details": {},
        "pictures": {},
    }
    nothing: dict[str, Any] = {kind: {} for kind in BESIDE}
    room = PAGE_BYTES - len(page(context, data | nothing, plotly=plotly).encode())
    packed, files = _packed_trials(store, listed, tasks, room)
    return context, data | packed, files


def _figures(
    summary: RunSummary,
    agents: Sequence[AgentSummary],
    results: Sequence[TrialResult],
    styles: Mapping[str, AgentStyle],
) -> dict[str, go.Figure]:
    firsts = [
        TaskScore(r.trial.agent, r.trial.task_id, r.root_score)
        for r in results
        if r.trial.round == 0 and r.root_score is not None
    ]
    found = {
        "headline": headline(agents, styles, summary.run.threshold),
        "success-curve": success_curve(agents, styles),
        "task-scores": task_scores(firsts, [agent.agent for agent in agents]),
        "category": grouped_estimates(
            {a.agent: a.category_pooled or a.category for a in agents}, styles, "mean root score"
        ),
        "capability": capabilities(agents, styles),
        "deliverable-type": grouped_estimates(
            {a.agent: a.deliverable_type for a in agents}, styles, "mean leaf score"
        ),
        "failures": failures(agents, styles),
        "refinement": refinement(summary.refinement, styles),
        "effort": effort(agents, styles),
        "steps-success": steps_against_success(agents, styles),
        "timings": timings(summary.stages, PALETTE[0]),
    }
    found |= planning_figures(summary.planning, styles)
    if any(len(agent.tier) > 1 for agent in agents):
        tiers = {a.agent: a.tier for a in agents}
        found["tier"] = grouped_estimates(tiers, styles, "mean root score")
    return found


def _packed_trials(
    store: Store, results: Sequence[TrialResult], tasks: Mapping[str, Task], room: int
) -> tuple[dict[str, Any], dict[str, dict[str, str]]]:
    """Return details of the trials and pictures that fit into `room` bytes; and files by kind."""
    by_id = {result.trial.id: result for result in results}
    later = defaultdict(list)
    for result in results:
        if result.trial.parent_trial_id is not None:
            later[result.trial.parent_trial_id].append(result.trial)
    pictures: set[str] = set()
    pages: dict[str, int] = {}
    sizes: dict[str, int] = {}

    def details_of(trial_id: str, cap: Cap) -> Details:
        result = by_id[trial_id]
        task = tasks[result.trial.task_hash]
        found = details(store, result, task, later[trial_id], cap)
        pictures.update(file["picture"] for file in found["deliverables"] if file["picture"])
        for file in found["deliverables"]:
            pages.update({sha256: place for place, sha256 in enumerate(file["pages"])})
        if result.outcome is not None:
            kept = result.outcome.deliverables[: cap.deliverables]
            sizes.update({file.sha256: file.size_bytes for file in kept})
        sizes.update({file.sha256: file.size_bytes for file in task.files[: cap.deliverables]})
        for entry in found["transcript"]:
            if entry["who"] == "tool":
                sizes.update({file["sha256"]: file["size"] for file in entry.get("files", ())})
        return found

    packed = pack(list(by_id), details_of, int(room * (1 - _PICTURES)))
    left = room - len(embedded(packed))
    shown = {
        "trial-details": packed,
        "pictures": pack_pictures(store.artifacts, pictures, left),
    }
    return shown, {
        "pages": pack_pages(store.artifacts, pages, int(FILES_BYTES * _PAGES)),
        "files": pack_files(store.artifacts, sizes, int(FILES_BYTES * (1 - _PAGES))),
    }
