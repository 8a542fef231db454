"""What a real, tiny model writes is garbage as a task, and gets no further than the validators."""

import asyncio
from datetime import UTC, datetime

import pytest

from environments.models.local.serving import local_model_server
from environments.models.registry import model_client
from environments.ports import Message, ModelRequest
from environments.tool_runtime.catalogue import catalogue
from quality.gates import hold
from quality.suites.candidates import candidate_rows, candidates_suite
from quality.suites.checkpoint_trees import checkpoint_trees_suite, tree_rows
from quality.suites.tasks import TaskRules
from stages.construct import classify
from stages.construct.assembling import assembled
from stages.construct.rules.book import review_rules
from stages.score.library import check_library
from taskdata.schema.agent import ModelSpec
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.construct import (
    CandidateStatus,
    Construction,
    ConstructionStep,
    TaskDraft,
)
from tests.soak import at_length_only

SMALL = ModelSpec(provider="local", model="smollm2-135m")
ASKED = "Write a task for an office assistant: what to make from which file. Number the steps."


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with local_model_server(tmp_path_factory.mktemp("small")) as url:
        yield url


@pytest.fixture
def connect(served):
    return lambda _spec, _url: model_client(SMALL, served)


@pytest.fixture
def drafted(store, started, new_task):
    """A candidate with a sound draft that is to be classified; returns it."""
    refresh = started(model=SMALL, tools="base", max_asks=2, max_reply_tokens=16)
    (candidate,) = store.candidates(refresh.id)
    task = new_task()
    fields = {name: getattr(task, name) for name in TaskDraft.model_fields if name != "files"}
    step = ConstructionStep(
        candidate_id=candidate.id,
        stage=Construction.GENERATE,
        attempt=1,
        verdict="drafted",
        draft=TaskDraft.model_validate(fields),
        code_version="test",
        at=datetime.now(UTC),
    )
    store.record_step(step, stage=Construction.CLASSIFY)
    return store.candidate(candidate.id)


@pytest.mark.soak
@at_length_only  # `test_rounds.py` holds it of a scripted model; this one reads long prompts slowly
def test_an_answer_that_is_no_answer_takes_the_candidate_out(store, drafted, connect):
    report = classify.do(store, drafted.refresh_id, connect)
    found = store.candidate(drafted.id)
    assert (report.due, report.done) == (1, 1)
    assert found.status is CandidateStatus.QUARANTINED
    assert "no answer of the model could be used" in found.reason
    step = store.steps(drafted.id)[-1]
    assert "smollm2" in step.model_id.lower()
    assert step.usage.output_tokens > 0


def test_its_prose_in_a_well_formed_draft_is_stopped_by_rules_and_gates(store, drafted, served):
    async def say():
        client = model_client(SMALL, served)
        try:
            return await client.reply(
                ModelRequest(messages=[Message("user", ASKED)], max_tokens=120, temperature=0.0)
            )
        finally:
            await client.close()

    prose = asyncio.run(say()).text
    assert len(prose) > 40
    leaf = Checkpoint(id="all", requirement=prose, verifier=Judge(rubric=prose, deliverables=()))
    draft = store.draft(drafted.id).model_copy(update={"query": prose, "checkpoints": leaf})
    broken = review_rules(store)(drafted, draft)
    assert broken
    task = assembled(store, drafted, draft)
    tools = list(catalogue())
    gates = (
        (
            candidates_suite(TaskRules(), tools, list(check_library())),
            candidate_rows([task], tools),
        ),
        (checkpoint_trees_suite(), tree_rows([task], tools)),
    )
    assert all(hold(suite, rows, "garbage")[0].quarantined == (task.id,) for suite, rows in gates)
