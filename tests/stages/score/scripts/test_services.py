"""Programs that score what a trial left in a database, which they find running."""

import re
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from environments.ports import ExposedPort
from environments.sandbox.providers import sandbox_provider
from environments.services.kinds import KINDS
from environments.services.program import ServiceStopped
from stages.execute import work as executing
from stages.prepare import work as preparing
from stages.score import work as scoring
from stages.score.scripts import running as scripts
from taskdata.errors import ServiceFailed
from taskdata.schema.limits import KeptState, SandboxLimits, ServiceFacts
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.scores import Unscored
from taskdata.schema.service import PostgresqlService
from taskdata.schema.task import Resources

PAGE = Path("docs/scoring.md")
EXAMPLE = Path(__file__).parent / "bank/stock-room"


def limits(kept: KeptState | None) -> SandboxLimits:
    facts = ServiceFacts(name="shop", kind="postgresql", version="15", seconds=1, kept=kept)
    return SandboxLimits(asked=Resources(), services=(facts,))


@pytest.fixture
def asking(task_with):
    """Return a function that makes a task with a database, and a program that uses it."""

    def make(code: str, **settings: object):
        return task_with(
            code, has=(PostgresqlService(name="shop"),), services=("shop",), **settings
        )

    return make


@pytest.fixture
def postgresql():
    if reason := KINDS["postgresql"].missing() or sandbox_provider("bubblewrap").unavailable():
        pytest.skip(reason)


@pytest.mark.postgres
def test_the_example_of_the_docs_is_played_and_scored_from_the_live_database(
    store, bank, new_run, tmp_path: Path, postgresql
):
    for path in bank.files.values():
        store.artifacts.put_file(path)
    task = next(task for task in bank.tasks if task.id == "stock-room")
    made = new_run(task, agents=("reference", "nop"))
    preparing.do(store, made.id)
    executing.do(store, made.id, 0, tmp_path)

    # What was kept is lost for a while: that is nobody's 0, and the trial stays due.
    trials = {trial.agent: trial.id for trial in store.trials(made.id)}
    outcome = store.outcome(trials["reference"])
    assert outcome.status is OutcomeStatus.FINISHED, outcome.error_detail
    [facts] = outcome.limits.services
    kept = store.artifacts.read_bytes(facts.kept.sha256)
    store.artifacts.remove(facts.kept.sha256)
    scoring.score_trials(store, made.id, [trials["reference"]], home=tmp_path)
    assert store.score(trials["reference"]) is None
    assert facts.kept.sha256 in store.scoring_errors(made.id, 0)[trials["reference"]]
    store.artifacts.put_bytes(kept)

    report = scoring.do(store, made.id, 0, home=tmp_path)

    assert report.done == 2, report.note
    scores = {agent: store.score(trial_id).leaves for agent, trial_id in trials.items()}
    assert [(leaf.score, leaf.reason) for leaf in scores["reference"]] == [
        (10.0, "evaluation/main.py passes")
    ]
    [idle] = scores["nop"]
    assert idle.score == 0
    assert "stock holds [('BLACK', 30), ('GREEN', 20)]" in idle.reason


def test_the_docs_show_the_example():
    page = PAGE.read_text()
    for part in ("evaluation/main.py", "services/shop/shop.sql"):
        assert (EXAMPLE / part).read_text().strip() in page, part
    shown = re.search(r"- id: stock\n.*\n.*services: \[shop\]\}", page)
    assert shown is not None
    told = [line.strip() for line in shown[0].splitlines()]
    assert told == [line.strip() for line in (EXAMPLE / "task.yaml").read_text().splitlines()[-3:]]


def test_a_state_that_was_not_kept_is_unscored_and_counts_only_if_the_agent_caused_it(
    scored, asking
):
    task = asking("assert True")
    [leaf] = scored(task, limits=limits(None)).values()
    assert (leaf.score, leaf.unscored) == (None, Unscored.NOT_OBSERVED)
    assert leaf.reason == "services/shop: its final state was not kept with the trial"

    for line in (
        "services/shop: there is no final state, for it was stopped at its limit of disk",
        "services/shop: it cannot be started again, for it was stopped at its limit of disk",
    ):
        [leaf] = scored(task, limits=limits(None), rejected=(line,)).values()
        assert (leaf.score, leaf.unscored, leaf.reason) == (None, Unscored.CHECK_FAILED, line)


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch):
    """Have services without a server that are found lost when a program has ended."""

    class Lost:
        def __init__(self, cause: Exception, times: int) -> None:
            self.cause, self.times = cause, times

        async def renewed(self, _names) -> tuple[ExposedPort, ...]:
            return ()

        async def require_alive(self, _names) -> None:
            if self.times:
                self.times -= 1
                raise self.cause

    def lose(cause: Exception, times: int = 1) -> None:
        lost = Lost(cause, times)

        @asynccontextmanager
        async def opened(*_: object):
            yield lost

        monkeypatch.setattr(scripts, "live_services", opened)

    return lose


KEPT = limits(KeptState(sha256="0" * 64, size_bytes=1))


def test_a_verdict_of_a_program_whose_database_was_lost_does_not_count(scored, asking, live):
    task = asking("import sys; sys.exit(1)")
    live(ServiceFailed("service 'shop' was lost: no server"))
    with pytest.raises(ServiceFailed, match="was lost"):
        scored(task, limits=KEPT)


def test_a_database_that_ends_at_its_limits_over_what_the_agent_left_counts_within_the_bounds(
    scored, asking, live
):
    task = asking("assert True")
    live(ServiceStopped("it was stopped at its limit of memory"))
    [leaf] = scored(task, limits=KEPT).values()
    assert (leaf.score, leaf.unscored) == (None, Unscored.CHECK_FAILED)
    assert "a service of evaluation/main.py ended: it was stopped at its limit" in leaf.reason
    live(ServiceStopped("it was stopped at its limit of memory"), times=2)
    [leaf] = scored(task, limits=KEPT).values()
    assert leaf.unscored is Unscored.SCRIPT_FAILED


def test_a_program_may_ask_for_services_of_its_task_only(asking):
    task = asking("assert True")
    fields = task.model_dump()
    fields["checkpoints"]["children"][0]["verifier"]["services"] = ("post",)

    with pytest.raises(ValueError, match=r"needs the services \['post'\].*task's \['shop'\]"):
        type(task).model_validate(fields)
