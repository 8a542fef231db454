"""Seeds that arrive: a refresh starts, a person decides in its form, the next night has the bank.

Meanwhile a webhook takes notices, and never answers.
"""

from datetime import UTC, datetime
from functools import partial

import pytest

from flows.config import Settings
from stages.release.review import awaiting
from taskdata.store import Store
from tests.e2e.receiver import SECRET, receiver
from tests.soak import at_length_only

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.browser,
    pytest.mark.soak,
    pytest.mark.timeout(3000),
    at_length_only,
]

SETTINGS = """
[refresh]
model = "compatible/scripted"
base_url = "{url}"
bank = "office"
base = "none"
max_augmentations = 0

[run]
bank = "office@latest"
agents = ["nop"]
refinement_rounds = 0
workers = 1

[notifications]
webhook_url_from = "NIGHT_HOOK"
"""


@pytest.fixture
def served(tmp_path, serving, scripted_model):
    """`nightshift serve` with an empty inbox; yields home, API and what the webhook has heard."""
    home, text = tmp_path / "home", SETTINGS.format(url=scripted_model)
    with (
        receiver(answers=False) as hook,
        serving(home, text, 4798, NIGHT_HOOK=hook.url) as api,
    ):
        yield home, api, hook.heard


def fill_in(decision, names, reviewer, reason, page):
    """Resume the paused run that the page shows, with the form filled in."""
    page.get_by_role("button", name="Open menu").first.click()
    page.get_by_role("menuitem", name="Resume").click()
    form = page.get_by_role("dialog")
    # The decision comes first, then the items of the checklist.
    form.get_by_role("button", name="Select").first.click()
    page.get_by_role("option", name=decision, exact=True).click()
    for box, text in zip(form.get_by_role("textbox").all(), (names, reviewer, reason), strict=True):
        box.fill(text)
    form.get_by_role("button", name="Resume").click()


def test_seeds_in_the_inbox_become_a_bank_that_the_next_night_evaluates(
    served, command, seed_rows, click_until_taken
):
    home, api, heard = served
    inbox = home / "inbox"
    (inbox / "broken.csv").write_bytes("text,source\nhello,web\n".encode("utf-16"))
    seed_rows("forum.csv", 2).rename(inbox / "forum.csv")
    api.wait("the review to pause", lambda: api.state_of("review") == "PAUSED", 1200)
    (refresh,) = api.runs_of("refresh_task_bank")
    assert refresh["parameters"]["arrived"] is True
    assert [path.name for path in (inbox / "done").iterdir()] == ["forum.csv"]
    assert (
        (inbox / "quarantined" / "broken.csv.reason.txt")
        .read_text()
        .startswith("inbox/broken.csv: ")
    )

    waiting = [c["task_id"] for c in command.read(home, "review", "list")["candidates"]]
    (review,) = api.runs_of("review")
    form = f"/v2/runs/flow-run/{review['id']}"
    api.wait("the notice", lambda: heard, 60)
    path, message = heard[0]
    assert path == f"/{SECRET}"
    assert f"{len(waiting)} tasks need a decision" in message["text"]
    assert message["text"].endswith(form)

    move = next(task for task in waiting if task.startswith("we-move"))
    click_until_taken(api, form, partial(fill_in, "approve those named", move, "kirsten", "read"))
    api.wait(
        "the approval",
        lambda: asked_of(home, lambda store: len(awaiting(store))) == len(waiting) - 1,
        120,
    )
    api.wait("the next form", lambda: api.state_of("review") == "PAUSED", 120)
    told = "the house move says it all"
    click_until_taken(api, form, partial(fill_in, "reject all", "", "kirsten", told))
    api.wait("the rejection", lambda: not asked_of(home, awaiting), 120)

    api.wait("the refresh", lambda: api.state_of("refresh_task_bank") == "COMPLETED", 900)
    (found,) = command.read(home, "refreshes")["refreshes"]
    assert (found["status"], found["release"]) == ("released", "office@1")
    assert found["candidates"] == {"rejected": len(waiting) - 1, "released": 1}
    decided = command.read(home, "review", "show", move)["decisions"]
    assert [(d["decision"], d["reviewer"]) for d in decided] == [("approve", "kirsten")]
    (task,) = command.read(home, "bank", "list", "--bank", "office")["tasks"]
    assert task["id"] == move
    assert len(api.runs_of("generate")) == 1

    begin_now(api, api.wait("the schedule", lambda: next_night(api), 120))
    api.wait("the night", lambda: asked_of(home, Store.runs), 120)
    api.wait("its end", lambda: "COMPLETED" in states(api, "nightly_evaluation"), 1200)
    (run,) = command.read(home, "runs")["runs"]
    assert (run["status"], run["bank"]) == ("completed", "office@1")
    (trial,) = command.read(home, "show", "--run", run["id"])["trials"]
    assert trial["trial"]["task_id"] == move
    assert len(api.runs_of("refresh_task_bank")) == 1, "what has been taken in does not repeat"
    assert len(heard) == 1

    more = home.parent / "more.csv"
    more.write_text("text,source\nPlan a weekend in Lisbon as a table.,forum\n")
    added = command.run(home, "seeds", "add", str(more))
    assert "a refresh of bank office begins" in added.stderr, added.stdout + added.stderr
    api.wait("its refresh", lambda: len(api.runs_of("refresh_task_bank")) == 2, 60)
    written = [path for path in home.rglob("*") if path.is_file()]
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []


def asked_of(home, question):
    """Ask the store itself: while a test waits, a command each time would take the CPU."""
    store = Store.open(Settings(home=home).address)
    found = question(store)
    store.close()
    return found


def next_night(api):
    nights = [n for n in api.runs_of("nightly_evaluation") if n["state"]["type"] == "SCHEDULED"]
    return min(nights, key=lambda night: night["expected_start_time"], default=None)


def states(api, flow):
    return {run["state"]["type"] for run in api.runs_of(flow)}


def begin_now(api, night):
    """Do not wait for the day: the flow run stays the one that the schedule has inserted."""
    details = {"scheduled_time": datetime.now(UTC).isoformat()}
    state = {"type": "SCHEDULED", "state_details": details}
    api.post(f"flow_runs/{night['id']}/set_state", {"state": state, "force": True})
