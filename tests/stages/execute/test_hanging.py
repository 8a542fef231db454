"""One thing that hangs costs its own deadline: a provider, a set-up, a stage."""

import asyncio
import os
import time
from pathlib import Path

import pytest

from environments.models.keys import pair_keys
from environments.reaper.owner import RUN_VARIABLE
from environments.reaper.owner import VARIABLE as OWNER_VARIABLE
from environments.services.kinds import service_state
from environments.services.mail import Mail
from stages.execute import work
from stages.prepare import work as preparing
from stages.workers import backlog as backlogs
from stages.workers import slots
from stages.workers.backlog import Backlog
from stages.workers.deadline import StageEnd
from taskdata.schema.agent import AgentSpec, Budget
from taskdata.schema.run import OutcomeStatus
from taskdata.schema.service import MailAccount, MailService
from taskdata.schema.task import InputFile, TaskEnvironment
from taskdata.schema.transcript import Ending
from taskdata.store import Store
from tests.wire_server import WireServer, running_wire_server

HEALTHY, WEDGED = "react:compatible/healthy", "react:compatible/wedged"


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("COMPATIBLE_API_KEY", "sk-canary-42")


@pytest.fixture
def wedged():
    """A provider that takes every request and never answers."""
    with running_wire_server() as server:
        server.respond = lambda seen: never
        pair_keys({"compatible": [server.url]})
        yield server


async def never(seen, request):
    await asyncio.Event().wait()


def agent(name: str, server: WireServer, **budget: object) -> AgentSpec:
    return AgentSpec.parse(name, base_url=server.openai_url, budget=Budget(**budget))


def processes(run_id: str) -> list[str]:
    """Command lines of what this process still runs for a run: others have runs of that name."""
    marks = (f"{RUN_VARIABLE}={run_id}\0".encode(), f"{OWNER_VARIABLE}={os.getpid()}-".encode())
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
            if all(mark in environment for mark in marks):
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def results(store: Store, run_id: str) -> dict[tuple[str, str], object]:
    return {(r.trial.agent, r.trial.task_id): r.outcome for r in store.results(run_id)}


def test_a_wedged_provider_holds_up_no_other(
    store, new_run, new_answer_task, wire, wedged, tmp_path
):
    wire.respond = lambda seen: wire.says("Final Answer: 5")
    tasks = [new_answer_task(f"task-{n}") for n in range(3)]
    agents = (agent(WEDGED, wedged, max_seconds=4), agent(HEALTHY, wire))
    run = new_run(*tasks, agents=agents, trials_per_worker=2)
    preparing.do(store, run.id)

    report = work.do(store, run.id, 0, tmp_path)

    assert (report.done, report.errors) == (3, 3)
    ended = {"healthy": [], "wedged": []}
    for (name, _), outcome in results(store, run.id).items():
        ended[name.partition("/")[2]].append(outcome)
    assert {outcome.ending for outcome in ended["healthy"]} == {Ending.FINISHED}
    assert {outcome.status for outcome in ended["wedged"]} == {OutcomeStatus.INFRASTRUCTURE}
    last = max(outcome.finished_at for outcome in ended["healthy"])
    assert all(outcome.finished_at > last for outcome in ended["wedged"])
    assert wedged.most_at_once == 2, "once the others were done, all slots were the wedged one's"


@pytest.fixture
def at_once(monkeypatch):
    """Let the backlog probe and give up as fast as a test."""
    monkeypatch.setattr(slots, "SECONDS_BETWEEN_ASKS", 0.05)
    monkeypatch.setattr(backlogs, "SECONDS_BETWEEN_PROBES", 0.1)
    monkeypatch.setattr(backlogs, "SECONDS_BETWEEN_PROBES_BESIDE_OTHERS", 0.5)
    monkeypatch.setattr(backlogs, "SILENT_SECONDS", 0.2)


def test_a_provider_that_answers_nothing_costs_a_few_trials_and_the_others_stay_due(
    store, new_run, new_answer_task, wire, wedged, tmp_path, at_once
):
    wire.respond = lambda seen: wire.says("Final Answer: 5")
    agents = (agent(WEDGED, wedged, max_seconds=0.3), agent(HEALTHY, wire))
    run = new_run(new_answer_task(), agents=agents, repetitions=20, trials_per_worker=2)
    preparing.do(store, run.id)

    report = work.do(store, run.id, 0, tmp_path)

    assert (report.done, report.errors) == (20, 20)
    assert len(wedged.seen) < 15
    causes = list(store.failures(run.id, 0).values())
    untouched = [cause for cause in causes if "trials in a row" in cause]
    assert len(untouched) > 5
    assert len(wedged.seen) <= 20 - len(untouched), "nobody was asked for an untouched trial"
    assert f"provider compatible at {wedged.openai_url} did not answer" in untouched[0]

    wedged.respond = lambda seen: wire.says("Final Answer: 5")
    report = work.do(store, run.id, 0, tmp_path)
    assert (report.due, report.done) == (20, 20)


def test_a_provider_that_answers_a_probe_has_all_slots_again(
    store, new_run, new_answer_task, wire, wedged, tmp_path, at_once, monkeypatch
):
    monkeypatch.setattr(backlogs, "SILENT_SECONDS", 60)
    answer = wire.says("Final Answer: 5")
    wedged.respond = lambda seen: never if len(wedged.seen) <= 8 else wire.waits(0.1, answer)
    run = new_run(
        new_answer_task(),
        agents=(agent(WEDGED, wedged, max_seconds=0.4),),
        repetitions=20,
        trials_per_worker=4,
    )
    preparing.do(store, run.id)

    report = work.do(store, run.id, 0, tmp_path)

    assert (report.done, report.errors) == (12, 8)
    assert wedged.most_at_once == 4
    assert len(wedged.seen) == 20


def test_a_set_up_that_hangs_costs_its_own_deadline(store, new_run, new_answer_task, tmp_path):
    program = b"import time\ntime.sleep(600)\n"
    sha256 = store.artifacts.put_bytes(program)
    file = InputFile(path="preprocess/main.py", sha256=sha256, size_bytes=len(program))
    hangs = new_answer_task("hangs", environment=TaskEnvironment(preprocess=(file,)))
    run = new_run(hangs, new_answer_task("works"), deadlines={"setup_seconds": 2})
    preparing.do(store, run.id)

    began = time.monotonic()
    report = work.do(store, run.id, 0, tmp_path)

    assert time.monotonic() - began < 30
    assert (report.done, report.errors) == (1, 1)
    outcome = results(store, run.id)["nop", "hangs"]
    assert outcome.status is OutcomeStatus.INFRASTRUCTURE
    assert "while making its workspace: not over within 2 s (setup_seconds = 2)" in outcome.error
    assert "\n" not in outcome.error
    assert processes(run.id) == []


def test_a_service_that_hangs_is_named_and_ended(
    store, new_run, new_answer_task, tmp_path, monkeypatch
):
    if (state := service_state("mail")) != "ready":
        pytest.skip(state)
    monkeypatch.setattr(Mail, "program", "tokenize")  # reads until its input ends, says nothing
    post = MailService(name="post", accounts=(MailAccount(address="ann@example.org"),))
    task = new_answer_task(environment=TaskEnvironment(services=(post,)))
    run = new_run(task, deadlines={"setup_seconds": 2})
    preparing.do(store, run.id)

    report = work.do(store, run.id, 0, tmp_path)

    assert (report.done, report.errors) == (0, 1)
    assert "while starting its services: not over within 2 s" in report.note
    assert processes(run.id) == []


def test_a_stage_ends_at_its_deadline_and_another_does_the_rest(
    store, new_run, new_answer_task, wire, tmp_path
):
    tasks = [new_answer_task(f"task-{n}", tools=("list_files", "finish")) for n in range(4)]
    name = "function_calling:compatible/m"
    run = new_run(*tasks, agents=(agent(name, wire),), trials_per_worker=2)
    preparing.do(store, run.id)
    wire.then(*[wire.says("", ("list_files", {}))] * 2)
    wire.respond = lambda seen: never
    due = work.due(store, run.id, 0)
    backlog = Backlog.of(work.by_provider(store, run.id, due))

    began = time.monotonic()
    ends = StageEnd(time.time() + 4, "the hour had come")
    work.run_until_empty(store, run.id, backlog.exchange, {}, tmp_path, ends=ends)

    assert time.monotonic() - began < 15
    assert (backlog.done, backlog.waiting) == (2, 2), "nothing was begun after the deadline"
    stopped = store.failures(run.id, 0)
    assert len(stopped) == 2
    assert all("while its agent worked: the hour had come" in why for why in stopped.values())
    assert processes(run.id) == []

    work.record_stopped(store, run.id, 0, due, "the stage was stopped")
    causes = store.failures(run.id, 0)
    never_begun = set(causes) - set(stopped)
    assert {causes[trial_id] for trial_id in never_begun} == {"the stage was stopped"}
    assert [store.outcome(trial_id).cost_usd for trial_id in never_begun] == [0, 0]
    assert work.due(store, run.id, 0) == due, "all of them are due as before"

    wire.seen.clear()
    wire.respond = lambda seen: wire.says("Two files.")
    report = work.do(store, run.id, 0, tmp_path)
    assert (report.due, report.done) == (4, 4)
    outcomes = results(store, run.id).values()
    assert {outcome.attempt for outcome in outcomes} == {2}
    assert len(wire.seen) == 4, "what was paid for was not asked again"
    assert sorted(outcome.turns for outcome in outcomes) == [1, 1, 2, 2]
