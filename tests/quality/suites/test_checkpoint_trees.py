from collections.abc import Callable

import pytest

from quality.gates import hold, quarantine_reasons
from quality.suites.checkpoint_trees import checkpoint_trees_suite, tree_rows
from taskdata.schema.checkpoint import Checkpoint, Judge
from taskdata.schema.gate import GateResult
from taskdata.schema.task import DeliverableSpec, Task

TOOLS = {"ReadCSV", "Plot"}
FILES = (DeliverableSpec(name="totals.xlsx", type="xlsx"),)
JUDGED = Judge(rubric="Is it plain?", deliverables=("totals.xlsx",))

MakeTask = Callable[..., Task]
Leaf = Callable[..., Checkpoint]


def gate(*tasks: Task) -> GateResult:
    return hold(checkpoint_trees_suite(), tree_rows(tasks, TOOLS), "r1")[0]


def tree(*children: Checkpoint, node_id: str = "root") -> Checkpoint:
    return Checkpoint(id=node_id, requirement=f"All of {node_id} is right.", children=children)


@pytest.fixture
def with_tree(make_task: MakeTask) -> MakeTask:
    def make(task_id: str, checkpoints: Checkpoint, **fields: object) -> Task:
        return make_task(task_id, deliverables=FILES, checkpoints=checkpoints, **fields)

    return make


def test_sound_trees_pass(with_tree: MakeTask, make_leaf: Leaf):
    workflow = with_tree("w", tree(tree(*map(make_leaf, "ab"), node_id="part"), make_leaf("c")))
    atomic = with_tree("a", make_leaf("root"), tier="atomic")

    result = gate(workflow, atomic)

    assert result.success
    assert result.failures == ()


BROKEN: list[tuple[list[dict[str, object]], str]] = [
    ([{}, {}], "the leaves of workflow trees number 3 to 19 (found: 2)"),
    ([{}] * 20, "the leaves of workflow trees number 3 to 19 (found: 20)"),
    ([{"weight": 0}, {}, {}], "every weight is positive and finite (found: l0)"),
    (
        [{"verifier": JUDGED, "weight": 8}, {}, {}],
        "code can verify 30% of a tree's weight (found: 0.2)",
    ),
    ([{"requirement": "Right."}, {}, {}], "a requirement has 10 to 1000 characters (found: l0)"),
    ([{"requirement": "x" * 1001}, {}, {}], "a requirement has 10 to 1000 characters"),
    (
        [{"requirement": "The sum is right."}, {"requirement": "the sum is right. "}, {}],
        "no two checkpoints of a tree require the same (found: l0, l1)",
    ),
    (
        [{"requirement": "Open the workbook and add the sums."}, {}, {}],
        "a requirement names an outcome, not an action (found: l0)",
    ),
    (
        [{"requirement": "First, the sums are made."}, {}, {}],
        "a requirement names an outcome, not an action (found: l0)",
    ),
    (
        [{"requirement": "The file was read with ReadCSV."}, {}, {}],
        "requirements and rubrics name no tool (found: ReadCSV)",
    ),
    (
        [{"verifier": {"kind": "judge", "rubric": "Was the Plot tool used?"}}, {}, {}],
        "requirements and rubrics name no tool (found: Plot)",
    ),
]


def test_a_task_with_a_broken_tree_is_kept_back(with_tree: MakeTask, make_leaf: Leaf):
    tasks = [with_tree("sound", tree(*map(make_leaf, "abc")))]
    for number, (leaves, _says) in enumerate(BROKEN):
        made = [make_leaf(f"l{i}", **fields) for i, fields in enumerate(leaves)]
        tasks.append(with_tree(f"broken-{number}", tree(*made)))

    result, validation = hold(checkpoint_trees_suite(), tree_rows(tasks, TOOLS), "r1")

    assert result.success
    assert set(result.quarantined) == {task.id for task in tasks[1:]}
    reasons = quarantine_reasons(validation)
    for number, (_leaves, says) in enumerate(BROKEN):
        (reason,) = reasons[f"broken-{number}"]
        assert reason.startswith(says)


def test_a_tree_that_is_too_deep_is_kept_back(with_tree: MakeTask, make_leaf: Leaf):
    deep = tree(tree(tree(*map(make_leaf, "abc"), node_id="n"), node_id="m"))

    result = gate(with_tree("sound", tree(*map(make_leaf, "abc"))), with_tree("deep", deep))

    assert result.quarantined == ("deep",)
    assert result.failures[0].expectation == "the depth of workflow trees number 2 to 3 (found: 4)"


def test_an_inner_node_whose_children_weigh_nothing_is_named(with_tree: MakeTask, make_leaf: Leaf):
    hollow = tree(make_leaf("a", weight=0), make_leaf("b", weight=0), node_id="hollow")

    result = gate(
        with_tree("sound", tree(*map(make_leaf, "xyz"))),
        with_tree("broken", tree(hollow, *map(make_leaf, "cd"))),
    )

    assert "the children of every inner node have some weight (found: hollow)" in {
        f.expectation for f in result.failures
    }


@pytest.mark.parametrize("weight", [float("inf"), float("nan"), -1.0])
def test_a_weight_that_never_was_validated_is_named(
    with_tree: MakeTask, make_leaf: Leaf, weight: float
):
    odd = make_leaf("odd").model_copy(update={"weight": weight})
    twin = make_leaf("odd")
    task = with_tree("sound", tree(*map(make_leaf, "abc")))
    unchecked = task.model_copy(update={"id": "broken", "checkpoints": tree(odd, twin, twin)})

    result = gate(task, unchecked)

    said = {f.expectation for f in result.failures}
    assert "every weight is positive and finite (found: odd)" in said
    assert "the ids of a tree's checkpoints are distinct (found: odd)" in said
