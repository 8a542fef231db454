"""A refresh pauses for a person: the form in the Prefect UI decides, and a release follows."""

from functools import partial

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.browser]

SETTINGS = """
[refresh]
model = "compatible/scripted"
base_url = "{url}"
bank = "office"
base = "none"
max_augmentations = 0
"""


@pytest.fixture
def served(tmp_path, command, serving, scripted_model, seed_rows):
    """`nightshift serve` with two seeds in the store; yields home and API."""
    home = tmp_path / "home"
    command.run(home, "seeds", "add", str(seed_rows("forum.csv", 2)))
    with serving(home, SETTINGS.format(url=scripted_model), 4798) as api:
        yield home, api


def fill_in(decision, names, reviewer, reason, page):
    """Resume the paused run that the page shows, with the form filled in."""
    page.get_by_role("button", name="Open menu").first.click()
    page.get_by_role("menuitem", name="Resume").click()
    form = page.get_by_role("dialog")
    form.get_by_role("button", name="Select").click()
    page.get_by_role("option", name=decision, exact=True).click()
    for box, text in zip(form.get_by_role("textbox").all(), (names, reviewer, reason), strict=True):
        box.fill(text)
    form.get_by_role("button", name="Resume").click()


def test_the_form_approves_one_rejects_one_and_the_bank_is_released(
    served, command, click_until_taken
):
    home, api = served
    refresh = api.get("deployments/name/refresh_task_bank/refresh")
    api.post(f"deployments/{refresh['id']}/create_flow_run", {})
    api.wait("the review to pause", lambda: api.state_of("review") == "PAUSED", 300)

    waiting = [c["task_id"] for c in command.read(home, "review", "list")["candidates"]]
    move = next(task for task in waiting if task.startswith("we-move"))
    (review,) = api.runs_of("review")
    form = f"/v2/runs/flow-run/{review['id']}"
    click_until_taken(api, form, partial(fill_in, "approve those named", move, "kirsten", ""))
    api.wait(
        "the approval",
        lambda: len(command.read(home, "review", "list")["candidates"]) == len(waiting) - 1,
        60,
    )
    api.wait("the next form", lambda: api.state_of("review") == "PAUSED", 60)
    told = "the house move says it all"
    click_until_taken(api, form, partial(fill_in, "reject all", "", "kirsten", told))
    api.wait("the rejection", lambda: not command.read(home, "review", "list")["candidates"], 60)

    api.wait("the refresh", lambda: api.state_of("refresh_task_bank") == "COMPLETED", 300)
    (found,) = command.read(home, "refreshes")["refreshes"]
    assert (found["status"], found["release"]) == ("released", "office@1")
    assert found["candidates"] == {"rejected": len(waiting) - 1, "released": 1}
    decided = command.read(home, "review", "show", move)["decisions"]
    assert [(d["decision"], d["reviewer"]) for d in decided] == [("approve", "kirsten")]
    (task,) = command.read(home, "bank", "list", "--bank", "office")["tasks"]
    assert task["id"] == move
    assert len(api.runs_of("generate")) == 1
