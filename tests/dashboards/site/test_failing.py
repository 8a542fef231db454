"""Why trials fail, over the nights and by the tools of the latest one."""

import json

from taskdata.schema.night import FailureCluster, NightTool
from tests.dashboards.site.nights import first_morning

SCORES = {"solver": {"a": [2.0]}}


def tables(found) -> dict:
    return json.loads(found.find(id="tables").string)


def test_failed_calls_are_told_by_category_of_tools_and_by_tool(page, new_night):
    tools = (
        NightTool(agent="solver", tool="OCR", category="perception", trials=2, calls=8).model_copy(
            update={"errors": {"refused": 1, "bad_arguments": 1}}
        ),
        NightTool(agent="solver", tool="browse", trials=1, calls=2, errors={"unknown_tool": 2}),
        NightTool(agent="solver", tool="Plot", category="creativity", trials=1, calls=1),
    )
    night = new_night(0, SCORES, tools=tools)
    found = tables(page([night], first_morning(night), name="failures.html"))
    assert found["tool-categories"]["rows"] == [
        ["solver", "perception", 8, 2],
        ["solver", "creativity", 1, 0],
        ["solver", "no such tool", 2, 2],
    ]
    head = ("tool", "category", "agent", "trials", "calls", "wrong tool: not offered")
    assert tuple(found["tools"]["columns"][:6]) == head
    assert found["tools"]["rows"] == [
        ["OCR", "perception", "solver", 2, 8, 0, 1, 1, 0],
        ["browse", None, "solver", 1, 2, 2, 0, 0, 0],
        ["Plot", "creativity", "solver", 1, 1, 0, 0, 0, 0],
    ]


def test_a_night_whose_calls_nobody_saw_says_so(page, new_night):
    night = new_night(0, SCORES)
    found = page([night], first_morning(night), name="failures.html")
    assert "It is not known which tools the agents of the latest night called" in found.get_text()
    assert "tools" not in tables(found)


def cluster(key: str, trials: int, **known) -> FailureCluster:
    fields = {
        "key": key,
        "title": f"The XLSX file lacks {key}",
        "stage": "reason",
        "trials": trials,
        "agents": ("solver",),
        "tasks": ("a",),
        "example": "t7",
    }
    return FailureCluster(**(fields | known))


def test_causes_come_first_with_their_first_and_last_night_and_their_trials(page, new_night):
    nights = [
        new_night(0, SCORES, clusters=(cluster("charts", 2), cluster("notes", 9))),
        new_night(1, SCORES, clusters=(cluster("charts", 3), cluster("formulas", 14))),
    ]
    found = page(nights, first_morning(nights[1]), name="failures.html")
    rows = [
        [cell.get_text(" ", strip=True) for cell in row.find_all(["td", "th"])]
        for row in found.select("table.causes tbody tr")
    ]
    assert [(row[0], row[1], row[5], row[6], row[7]) for row in rows] == [
        ("14", "The XLSX file lacks formulas", "2026-03-02 02:00 UTC", "the latest night", "1"),
        ("3", "The XLSX file lacks charts", "2026-03-01 02:00 UTC", "the latest night", "2"),
        (
            "9",
            "The XLSX file lacks notes",
            "2026-03-01 02:00 UTC",
            "2026-03-01 02:00 UTC not in the latest night",
            "1",
        ),
    ]
    links = [a["href"] for a in found.select("table.causes td.count a")]
    first = cluster("formulas", 14)
    assert links[0] == f"../runs/night-1/dashboard.html#trials?cluster={first.short_key}&n=14"
    assert links[2].startswith("../runs/night-0/dashboard.html#trials?cluster=")
    assert found.select_one("main h2").get_text() == "Causes"


def test_a_cluster_that_merges_causes_has_been_seen_since_any_of_them(page, new_night):
    nights = [
        new_night(0, SCORES, clusters=(cluster("late", 1), cluster("slow", 3))),
        new_night(1, SCORES, clusters=(cluster("slow", 4, merged=("late",)),)),
    ]
    found = page(nights, first_morning(nights[1]), name="failures.html")
    (row,) = found.select("table.causes tbody tr")
    assert row.select_one("td.number").get_text() == "2"
    assert "2026-03-01" in row.get_text()


def test_failed_trials_are_counted_by_the_stage_of_each(page, new_night):
    mixed = cluster("charts", 3, stages={"reason": 2, "refine": 1})
    lost = cluster("down", 1, stage="infrastructure")
    night = new_night(0, SCORES, clusters=(mixed, lost))
    found = tables(page([night], first_morning(night), name="failures.html"))
    columns = found["stages"]["columns"]
    (row,) = found["stages"]["rows"]
    assert dict(zip(columns[2:], row[2:], strict=True)) == {
        "reason": 2,
        "refine": 1,
        "infrastructure": 1,
    }
