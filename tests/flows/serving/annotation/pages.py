"""What tests of the local annotation pages share: a run, its outcomes, and a browser logged in."""

import re
from datetime import UTC, datetime

from starlette.testclient import TestClient

from taskdata.schema.agent import AgentSpec
from taskdata.schema.run import OutcomeStatus, Run, RunConfig, RunStatus, TrialOutcome
from taskdata.schema.transcript import Ending

OURS = "http://127.0.0.1:4713"
LOGIN = "nightshift:secret"
HOSTILE = "<script>alert('owned')</script>\u202e"
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def logged_in(app):
    """A browser that has the login and does not follow redirects."""
    client = TestClient(app, base_url=OURS, follow_redirects=False)
    client.auth = tuple(LOGIN.split(":"))
    return client


def token_of(page):
    return re.search(r'name="token" value="(\w+)"', page.text)[1]


def send(client, path, origin=OURS, token=None, **fields):
    """Send the form of a page, with the token that the page gives unless there is another."""
    token = token_of(client.get(path)) if token is None else token
    headers = {} if origin is None else {"origin": origin}
    return client.post(path, data={"token": token, **fields}, headers=headers)


def add_run(store, tasks, agents):
    """Add the finished run `run-1` of agents on tasks, without its trials."""
    config = RunConfig(bank="test", agents=tuple(AgentSpec.parse(agent) for agent in agents))
    run = Run(
        id="run-1",
        status=RunStatus.COMPLETED,
        config=config,
        release_hash=store.add_release("test", tuple(tasks), {}).hash,
        code_version="test",
        created_at=NOW,
    )
    store.add_run(run)
    return run


def outcome(trial_id, **facts):
    """A finished outcome, with what is said of it."""
    given = {"status": OutcomeStatus.FINISHED, "ending": Ending.FINISHED} | facts
    return TrialOutcome(
        trial_id=trial_id,
        attempt=1,
        sandbox="bubblewrap",
        code_version="test",
        started_at=NOW,
        finished_at=NOW,
        **given,
    )
