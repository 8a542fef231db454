"""kill -9 of each part of an installation, and of all at once, at stages of nights and a refresh.

Killed parts are started again, as Docker's or systemd's restart policies do. Then the night, or the
refresh, must end by itself, or by one click on Retry for each kill, with everything done once.
"""

import logging
import time
from collections.abc import Collection
from contextlib import closing
from typing import Any

import psycopg
import pytest

from taskdata.schema.run import Run, TrialResult
from tests.e2e.chaos import AGENT, TASK
from tests.e2e.recovery import PARTS, Installation, installed
from tests.soak import at_length_only
from tests.wire_server import Behaviour, Seen, WireServer, running_wire_server

pytestmark = [
    *(pytest.mark.e2e, pytest.mark.soak, pytest.mark.postgres, at_length_only),
    pytest.mark.timeout(3600),
]

_logger = logging.getLogger(__name__)

STAGES = ("execute", "score", "publish")
TASKS, REPETITIONS, SEEDS = 5, 6, 3
TRIALS = TASKS * REPETITIONS
SECONDS_TO_RECOVER = 900
"""On a busy machine; a flow run without heartbeats is crashed after 90 s."""

PROGRAM = "import time; time.sleep(2); print(2 + 3)"

LOOKS_BEFORE_A_CLICK = 15
"""One second apart."""

REFRESH_STAGES = {
    "generate": ("server",),
    "validate": ("database",),
    "prove": ("serve",),
    "release": PARTS,
}
"""What is killed during which stages of a refresh. The other parts have no share in one."""

SETTINGS = """
[refresh]
model = "compatible/scripted"
base_url = "{scripted_model}"
bank = "office"
base = "none"
max_augmentations = 0

[run]
bank = "{bank}"
refinement_rounds = 0
repetitions = {repetitions}
trials_per_worker = 4
page_pictures = false
agents = [{{name = "{agent}", base_url = "{url}"}}]
"""


@pytest.fixture(scope="module")
def provider():
    """A model that has a program run in the sandbox, and then answers."""
    with running_wire_server() as server:
        server.respond = lambda seen: server.waits(0.5, answer_to(seen))
        yield server


def answer_to(seen: Seen) -> Behaviour:
    """What the model says: a program that takes two seconds first, then the answer."""
    if all(message["role"] != "assistant" for message in seen.body["messages"]):
        return WireServer.says("", ("python_execute", {"code": PROGRAM}))
    return WireServer.says("The answer is 5.")


@pytest.fixture(scope="module")
def installation(tmp_path_factory, command, provider, scripted_model):
    """All parts, with a bank of small tasks."""
    folder = tmp_path_factory.mktemp("recovery")
    for number in range(TASKS):
        task = folder / "bank" / f"task-{number}"
        task.mkdir(parents=True)
        text = TASK.format(number=number, tool="python_execute")
        (task / "task.yaml").write_text(text)
    told = SETTINGS.format(
        bank=folder / "bank",
        repetitions=REPETITIONS,
        agent=AGENT,
        url=provider.openai_url,
        scripted_model=scripted_model,
    )
    environment = command.environment(folder / "home") | {
        "COMPATIBLE_API_KEY": "sk-recovery",
        "NIGHTSHIFT_REFRESH_ON_ARRIVAL": "false",
    }
    del environment["NIGHTSHIFT_RUN"]
    with installed(folder, environment, told) as made:
        yield made


def await_deployments(made: Installation) -> None:
    deadline = time.monotonic() + 240
    while len(made.ask("POST", "deployments/filter", {})) < 20:
        assert time.monotonic() < deadline, made.said("serve")
        time.sleep(1)


def kill_while(made: Installation, night: str, stage: str, parts: Collection[str]) -> bool:
    """Kill the parts once the stage is at work, and start them again; False: it came too late."""
    deadline = time.monotonic() + SECONDS_TO_RECOVER
    while not is_at_work(made, night, stage):
        if made.state(night) == "COMPLETED":
            return False
        assert time.monotonic() < deadline, made.flow_runs()[:5]
        made.keep_up()
        time.sleep(0.2)
    made.kill(*parts)
    time.sleep(1)
    made.start_again(*parts)
    return True


def is_at_work(made: Installation, night: str, stage: str) -> bool:
    if not any(run["name"].startswith(stage) for run in stages_of(made, night, "RUNNING")):
        return False
    if stage != "execute":
        return True
    _, results = stored(made, night)
    begun = 0 < sum(result.outcome is not None for result in results) < len(results)
    return begun and bool(made.sandboxes())


def stages_of(made: Installation, night: str, *states: str) -> list[dict[str, Any]]:
    """The flow runs of a night's stages that are in one of these states, the newest first."""
    end = f"-{night.replace('-', '')[-6:]}"
    return [
        run
        for run in made.flow_runs()
        if run["id"] != night and run["name"].endswith(end) and run["state"]["type"] in states
    ]


def stored(made: Installation, night: str) -> tuple[Run, list[TrialResult]]:
    """The run of a night, and what is known of its trials."""
    with closing(made.store()) as store:
        (run,) = [run for run in store.runs() if run.flow_run_id == night]
        return run, store.results(run.id)


def recover(made: Installation, night: str, until: str, kills: int) -> int:
    """Click on Retry where something failed or crashed; return how often that was needed.

    A person clicks on what stays so: a stage that completes wakes its night a moment later.
    """
    clicks, broken_looks, deadline = 0, 0, time.monotonic() + SECONDS_TO_RECOVER
    while (state := made.state(night)) != "COMPLETED":
        assert time.monotonic() < deadline, (state, made.flow_runs()[:6], made.said("serve"))
        if until and is_at_work(made, night, until):
            break
        made.keep_up()
        at_work = stages_of(made, night, "SCHEDULED", "PENDING", "RUNNING")
        is_broken = state in ("FAILED", "CRASHED") and not at_work
        broken_looks = broken_looks + 1 if is_broken else 0
        if broken_looks == LOOKS_BEFORE_A_CLICK:
            broken = stages_of(made, night, "FAILED", "CRASHED")
            clicked = broken[0] if broken else made.ask("GET", f"flow_runs/{night}")
            message = (clicked["state"]["message"] or "")[:160]
            _logger.warning("%s: %s: Retry", clicked["name"], message)
            clicks += 1
            assert clicks <= kills, "one click for each kill was not enough"
            made.click_retry(clicked["id"])
        time.sleep(1)
    return clicks


def expect_everything_once(made: Installation, night: str) -> None:
    run, results = stored(made, night)
    with psycopg.connect(made.database) as connection:
        finished = connection.execute(
            "SELECT trial_id, count(*) FROM outcome WHERE status = 'finished' GROUP BY trial_id"
        ).fetchall()
    ids = {r.trial.id for r in results}
    assert run.status.value == "completed"
    assert len(results) == TRIALS
    assert {r.outcome.status.value for r in results} == {"finished"}
    assert {r.root_score for r in results} == {10}
    assert all(r.diagnosis for r in results)
    assert {count for trial, count in finished if trial in ids} == {1}
    assert (made.home / "runs" / run.id / "dashboard.html").stat().st_size > 0


def expect_nothing_left(made: Installation) -> None:
    deadline = time.monotonic() + 120
    while made.at_work() or made.left():
        assert time.monotonic() < deadline, (made.at_work(), made.left())
        time.sleep(1)


@pytest.mark.parametrize(
    "parts", [*((part,) for part in reversed(PARTS)), PARTS], ids=[*reversed(PARTS), "all"]
)
def test_a_night_survives_kills_at_every_stage(installation, parts):
    made = installation
    await_deployments(made)
    night = made.begin("nightly_evaluation/nightly", {})
    hit = []
    for number, stage in enumerate(STAGES):
        later = STAGES[number + 1] if number + 1 < len(STAGES) else ""
        if kill_while(made, night, stage, parts):
            hit.append(stage)
            clicks = recover(made, night, later, kills=1)
            _logger.warning("%s killed during %s: %d clicks", parts, stage, clicks)
    recover(made, night, "", kills=1)
    assert hit == list(STAGES), "a stage was over before its kill"
    expect_everything_once(made, night)
    expect_nothing_left(made)


def test_a_refresh_survives_kills_at_its_stages(installation, seed_rows):
    made = installation
    await_deployments(made)
    (made.home / "inbox").mkdir(exist_ok=True)
    seed_rows("forum.csv", SEEDS).rename(made.home / "inbox" / "forum.csv")
    changes = {"changes": {"review": "auto"}}
    refresh = made.begin("refresh_task_bank/refresh", changes)
    hit = []
    for stage, parts in REFRESH_STAGES.items():
        if kill_while(made, refresh, stage, parts):
            hit.append(stage)
            later = [name for name in REFRESH_STAGES if name not in hit]
            clicks = recover(made, refresh, later[0] if later else "", kills=1)
            _logger.warning("%s killed during %s: %d clicks", parts, stage, clicks)
    assert hit == list(REFRESH_STAGES), "a stage was over before its kill"
    expect_one_release(made, refresh)
    expect_nothing_left(made)


def expect_one_release(made: Installation, flow_run: str) -> None:
    with closing(made.store()) as store:
        (refresh,) = [one for one in store.refreshes() if one.flow_run_id == flow_run]
        candidates = store.candidates(refresh.id)
        versions = store.release_notes("office")
    assert refresh.status.value == "released"
    assert [notes.version for notes in versions] == [1]
    seeds = [candidate.seed_id for candidate in candidates]
    assert len(seeds) == len(set(seeds)) == SEEDS
    assert "open" not in {candidate.status.value for candidate in candidates}
    released = [c for c in candidates if c.status.value == "released"]
    assert len(released) == versions[0].statistics.tasks > 0
