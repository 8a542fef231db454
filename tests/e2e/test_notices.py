"""Messages that a served night sends: of a regression that a re-run confirms, and of a failure."""

import pytest

from tests.e2e.receiver import SECRET, receiver
from tests.e2e.week import SHAKY, STEADY, Models, settings, write_bank
from tests.soak import at_length_only
from tests.wire_server import running_wire_server

pytestmark = [pytest.mark.e2e, pytest.mark.soak, pytest.mark.timeout(3600), at_length_only]

NIGHTS_BEFORE = 2
NOTIFICATIONS = '\n[notifications]\nwebhook_url_from = "NIGHT_HOOK"\n'


@pytest.fixture
def models():
    return Models()


@pytest.fixture
def served(tmp_path, command, serving, models):
    """`nightshift serve` with a webhook; yields home, API and what the webhook has heard."""
    home, bank = tmp_path / "home", tmp_path / "sums"
    write_bank(bank)
    with running_wire_server() as server, receiver(answers=True) as hook:
        server.respond = models.respond
        text = settings(str(bank), server.openai_url, server.openai_url) + NOTIFICATIONS
        with serving(home, text, 4796, NIGHT_HOOK=hook.url) as api:
            yield home, api, hook.heard


def begin(api):
    """Start a night as Run on its deployment does; returns its flow run's id."""
    night = api.get("deployments/name/nightly_evaluation/nightly")["id"]
    return api.post(f"deployments/{night}/create_flow_run", {})["id"]


def end_of(api, night):
    """Return how the night has ended."""

    def ended():
        state = api.get(f"flow_runs/{night}")["state"]["type"]
        return state if state in ("COMPLETED", "FAILED", "CRASHED") else None

    return api.wait("the night", ended, 900)


def test_a_confirmed_regression_a_failed_gate_and_a_failed_night_are_told(served, command, models):
    home, api, heard = served
    for _ in range(NIGHTS_BEFORE):
        assert end_of(api, begin(api)) == "COMPLETED"
        models.day += 1
    assert heard == []

    models.worse_in = "data_analysis"
    night = begin(api)
    assert end_of(api, night) == "COMPLETED"
    models.worse_in = None
    models.day += 1
    morning = command.read(home, "morning")
    confirmed = {
        (c["agent"], c["scope"]) for c in morning["changes"] if c["verdict"] == "confirmed"
    }
    assert (SHAKY, "category data_analysis") in confirmed
    assert STEADY not in {agent for agent, _ in confirmed}
    api.wait("its message", lambda: heard, 60)
    ((path, message),) = heard
    assert path == f"/{SECRET}"
    assert "a re-run confirms it" in message["text"]
    assert f"`{SHAKY}` on `category data_analysis`" in message["text"]
    assert f"/runs/{morning['run_id']}/dashboard.html" in message["text"]

    models.refused = True
    night = begin(api)
    assert end_of(api, night) == "FAILED"
    (gate,) = [run for run in api.runs_of("gate") if run["state"]["type"] == "FAILED"]
    api.wait("the messages", lambda: len(heard) == 3, 60)
    about = {message["text"].rsplit("/", 1)[-1]: message["text"] for _, message in heard[1:]}
    assert about.keys() == {gate["id"], night}
    assert "A gate does not hold" in about[gate["id"]]
    assert "at most 50% of the trials are lost" in about[gate["id"]]
    assert "has failed" in about[night]
    written = [path for path in home.rglob("*") if path.is_file()]
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []
