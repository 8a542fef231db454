"""What the page of a run says of refinement."""

import pytest
from bs4 import BeautifulSoup

AGENT = "react:openai/gpt-5.2"


@pytest.fixture
def section(store, new_task, new_run, plan, finish, grade, lose, dashboard):
    """Three tasks: one passes at once, `coarse` mends one and loses one, `none` makes one worse."""
    tasks = [new_task(name) for name in ("passed", "mended", "lost")]
    run = new_run(*tasks, agents=(AGENT,), feedback=("none", "coarse"), refinement_rounds=1)

    def attempt(task, score, arm="", **effort):
        trial = plan(run, task, AGENT, round_=1 if arm else 0, arm=arm)
        finish(trial, **effort)
        grade(trial, score)
        return trial

    for task, score in zip(tasks, (9.0, 3.0, 3.0), strict=True):
        attempt(task, score)
    attempt(tasks[1], 3.0, "none")
    worse = attempt(tasks[2], 1.0, "none")
    attempt(tasks[1], 8.0, "coarse", cost_usd=0.5)
    lose(plan(run, tasks[2], AGENT, round_=1, arm="coarse"), "down")
    return BeautifulSoup(dashboard(run), "html.parser").find(id="refinement"), worse


def rows(section, number):
    table = section.find_all("table")[number]
    return [
        [cell.get_text(" ", strip=True).replace("\xa0", " ") for cell in row("td")]
        for row in table.tbody("tr")
    ]


def test_each_arm_has_its_gains_its_cost_and_its_leaves_that_got_worse(section):
    none, coarse = rows(section[0], 0)
    assert none[:4] == ["none round 1", "2 of 2", "3.00", "2.00 −33 %"]
    assert none[4].startswith("−1.00")
    assert none[5:7] == ["", ""]
    assert none[8:] == ["$0.50 no gain", "3 of 6 50 %"]
    assert coarse[:6] == [
        "coarse round 1",
        "1 of 2 1 lost",
        "3.00",
        "8.00 +167 %",
        "+5.00",
        "+5.00",
    ]
    assert coarse[7] == "0 % to 100 %"
    assert coarse[8:] == ["$0.50 $0.10 per point", "0 of 3 0 %"]


def test_the_whole_bank_stands_beside_the_first_attempts(section):
    _, coarse = rows(section[0], 1)
    assert coarse[1:3] == ["1 of 3", "5.00"]
    assert coarse[3].startswith("6.67")
    assert coarse[4].startswith("+1.67")


def test_arms_lead_to_their_attempts_and_worse_leaves_to_their_trials(section):
    page, worse = section
    first = page.find("tbody").find("a")["href"]
    assert first == "#trials?agent=react%3Aopenai%2Fgpt-5.2&arm=none&round=1&n=2"
    losses = rows(page, 2)
    assert [loss[1] for loss in losses] == 3 * ["lost"]
    assert {loss[2] for loss in losses} == {"sum", "difference", "product"}
    links = page.find("details").find("tbody").find("tr").find_all("a")
    assert [link["href"] for link in links[1:]] == [
        f"#trial-{worse.id}",
        f"#trial-{worse.parent_trial_id}",
        f"#trial-{worse.id}",
    ]
