"""Costs: the optimum is the cheapest way, and a trap is never part of one."""

from itertools import product

import pytest

from stages.construct.planning.cases.efficiency import cheapest, proven_optimum
from stages.construct.planning.cases.making import make
from stages.construct.planning.cases.rules import faults_of
from stages.construct.planning.variations import Variation
from taskdata.errors import BadTaskData
from taskdata.schema.planning import CaseTool, Setting, ToolRole
from tests.stages.construct.planning.conftest import WRITTEN

COSTS = Variation(task_id="harvest-letter", setting=Setting.EFFICIENCY)


def tool(name: str, cost: int, role: ToolRole = ToolRole.OWN, *replaces: str) -> CaseTool:
    return CaseTool(
        name=name,
        description="A tool.",
        parameters={"type": "object"},
        cost=cost,
        role=role,
        replaces=replaces,
    )


A, B, C = tool("a", 2), tool("b", 3), tool("c", 4)
AB = tool("ab", 4, ToolRole.COMPOSITE, "a", "b")
BC = tool("bc", 4, ToolRole.COMPOSITE, "b", "c")


def test_the_cheapest_way_takes_the_composite_that_saves_most():
    best = cheapest(["a", "b", "c"], [A, B, C, AB, BC])

    assert best.cost == 6
    assert [(t.name, first, last) for t, first, last in best.parts] == [("a", 0, 1), ("bc", 1, 3)]


@pytest.mark.parametrize("steps", ["abcaa", "aabbc", "abab", "cba"])
def test_the_optimum_is_that_of_trying_every_way(steps):
    tools = [A, B, C, AB, BC, tool("aa", 3, ToolRole.COMPOSITE, "a", "a")]

    ways = (
        sum(one.cost or 0 for one in way)
        for length in range(1, len(steps) + 1)
        for way in product(tools, repeat=length)
        if steps == "".join("".join(one.replaces or (one.name,)) for one in way)
    )

    assert cheapest(list(steps), tools).cost == min(ways)


def test_a_step_that_no_tool_does_is_named():
    with pytest.raises(BadTaskData, match="does the step 'c'"):
        cheapest(["a", "b", "c"], [A, B])


def test_a_composite_must_cost_less_than_its_parts():
    with pytest.raises(BadTaskData, match="costs 5, its parts 5"):
        proven_optimum(["a", "b"], [A, B, tool("ab", 5, ToolRole.COMPOSITE, "a", "b")])


@pytest.mark.parametrize(
    ("trap", "is_trap"),
    [
        (tool("dear", 3, ToolRole.TRAP, "a"), True),
        (tool("even", 2, ToolRole.TRAP, "a"), False),
        (tool("cheap", 1, ToolRole.TRAP, "b"), False),
        (tool("aside", 1, ToolRole.TRAP), True),
    ],
)
def test_a_trap_must_not_be_part_of_a_way_as_cheap_as_the_optimum(trap, is_trap):
    if is_trap:
        assert proven_optimum(["a", "b"], [A, B, trap]).cost == 5
        return
    with pytest.raises(BadTaskData, match="no more than the optimum 5"):
        proven_optimum(["a", "b"], [A, B, trap])


def test_an_efficient_case_has_the_proven_optimum_and_a_reference_of_that_cost(source, written):
    made = make(COSTS, source, written("efficiency"))

    case = made.planning
    costs = {tool.name: tool.cost for tool in case.tools}
    assert [a.tool for a in case.reference.chain] == ["ReadNoteAndTable", "AddAndWrite"]
    assert sum(costs[a.tool] for a in case.reference.chain) == case.optimum == 6
    assert case.reference.chain[0].arguments == {
        "path": "input/note.txt",
        "path_2": "input/crops.csv",
    }
    assert faults_of(made) == ()


def test_every_own_tool_needs_a_price(source, written):
    prices = WRITTEN["efficiency"]["prices"][1:]

    with pytest.raises(BadTaskData, match="'read_file' has none"):
        make(COSTS, source, written("efficiency", prices=prices))


def test_a_wrong_optimum_is_found_by_the_solver(source, written):
    made = make(COSTS, source, written("efficiency"))
    wrong = made.planning.model_copy(update={"optimum": 5})

    (says,) = faults_of(made.model_copy(update={"planning": wrong}))
    assert says == "its optimum is given as 5, and the solver proves 6"
