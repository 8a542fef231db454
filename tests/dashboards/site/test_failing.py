"""Why trials fail, over the nights and by the tools of the latest one."""

import json

from taskdata.schema.night import NightTool
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
    assert "Of no agent of the latest night is it known which tools it called" in found.get_text()
    assert "tools" not in tables(found)
