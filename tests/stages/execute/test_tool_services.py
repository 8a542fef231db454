"""A task's own documents are searched in its trials, and the configured ones in all others."""

import pytest

from environments.sandbox.providers import sandbox_provider
from stages.execute import work
from stages.prepare.needs import task_needs
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.task import InputFile, ReferenceSolution, ReferenceStep, TaskEnvironment
from taskdata.schema.tool_backends import ToolBackends

PAGE = b"# Ferry\n\nThe ferry leaves from pier four."
LOOK = ReferenceSolution(
    steps=(ReferenceStep(tool="web_search", arguments={"query": "ferry pier"}),),
    final_answer="See above.",
)


def looking(store, new_answer_task, name: str, own: bytes | None):
    """Return a task whose reference searches; `own`: the page that it brings."""
    around = None
    if own is not None:
        sha256 = store.artifacts.put_bytes(own)
        page = InputFile(path="search/ferry.md", sha256=sha256, size_bytes=len(own))
        around = TaskEnvironment(search=(page,))
    return new_answer_task(name, tools=("web_search",), reference=LOOK, environment=around)


def test_a_tasks_own_search_replaces_the_configured_one(
    store, new_answer_task, new_run, plan_trial, tmp_path
):
    if reason := sandbox_provider("bubblewrap").unavailable():
        pytest.skip(reason)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "ferry.md").write_text("# Ferry\n\nThe ferry leaves from pier nine.")
    tasks = [
        looking(store, new_answer_task, "own", PAGE),
        looking(store, new_answer_task, "configured", None),
    ]
    run = new_run(*tasks, agents=("reference",), search="corpus", search_corpus=str(corpus))
    trials = [plan_trial(run, task, "reference") for task in tasks]

    work.execute_trials(store, run.id, [trial.id for trial in trials], {}, tmp_path)

    said = {}
    for result in store.results(run.id):
        assert result.outcome.status is OutcomeStatus.FINISHED, result.outcome.error
        transcript = store.artifacts.read_bytes(result.outcome.transcript_sha256).decode()
        said[result.trial.task_id] = ("pier four" in transcript, "pier nine" in transcript)
    assert said == {"own": (True, False), "configured": (False, True)}


def test_a_task_with_a_search_needs_none_that_is_configured(store, new_answer_task, tmp_path):
    states = {}
    for name, own in (("own", PAGE), ("configured", None)):
        task = looking(store, new_answer_task, name, own)
        needs = task_needs(task, store.artifacts.read_bytes, tmp_path, "bubblewrap", ToolBackends())
        states[name] = {need.name: need.is_met for need in needs}

    assert states["own"]["web_search"]
    assert not states["configured"]["web_search"]
