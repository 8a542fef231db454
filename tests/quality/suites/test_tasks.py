from collections.abc import Callable

import pytest

from quality.gates import hold, require
from quality.suites.tasks import TaskRules, rules_for, task_rows, tasks_suite
from quality.tool_names import tools_named
from taskdata.errors import GateFailed
from taskdata.schema.agent import AgentSpec, ModelSpec
from taskdata.schema.checkpoint import Check, Checkpoint, Judge, ScriptCheck
from taskdata.schema.gate import GateResult
from taskdata.schema.run import RunConfig
from taskdata.schema.task import (
    DeliverableSpec,
    InputFile,
    Provenance,
    ReferenceSolution,
    ReferenceStep,
    Resources,
    SubjectiveAnswer,
    Task,
    TaskEnvironment,
)

TOOLS = {"ReadCSV", "XlsxFileGenerator", "Plot", "finish"}
CHECKS = {"xlsx_table", "xlsx_sheets", "answer_number"}
STARTER = TaskRules(
    min_checkable_share=0.7, needs_files=True, needs_reference=True, quarantines=False
)

MakeTask = Callable[..., Task]


def gate(*tasks: Task, rules: TaskRules = STARTER) -> GateResult:
    """Hold the gate as it stops a run at any fault."""
    return held(*tasks, rules=rules.model_copy(update={"quarantines": False}))


def held(*tasks: Task, rules: TaskRules) -> GateResult:
    return hold(tasks_suite(rules, TOOLS, CHECKS), task_rows(tasks, TOOLS), "r1")[0]


def leaf(leaf_id: str, name: str = "xlsx_table", weight: float = 1) -> Checkpoint:
    check = Check(name=name, deliverable="totals.xlsx")
    return Checkpoint(id=leaf_id, requirement="r", weight=weight, verifier=check)


def node(node_id: str, *children: Checkpoint) -> Checkpoint:
    return Checkpoint(id=node_id, requirement="r", children=children)


JUDGED = Checkpoint(
    id="j", requirement="r", weight=2, verifier=Judge(rubric="?", deliverables=("totals.xlsx",))
)
TWO_FILES = (
    DeliverableSpec(name="totals.xlsx", type="xlsx"),
    DeliverableSpec(name="notes.md", type="md"),
)
ONE_FILE = TWO_FILES[:1]


def test_sound_tasks_pass(make_task: MakeTask):
    result = gate(make_task(), make_task("another"))

    assert result.success, result.failures
    assert result.rows == 2


BROKEN: list[tuple[dict[str, object], str]] = [
    ({"query": "Sum it."}, "a query has 20 to 20000 characters"),
    ({"query": "Use ReadCSV on the file and sum it."}, "a query names no tool"),
    ({"tools": ("ReadCSV", "ReadXLS")}, "every tool a task allows exists (found: ReadXLS)"),
    ({"files": ()}, "the files of a workflow task is at least 1"),
    (
        {"files": (InputFile(path="sales.csv", sha256="a" * 64, size_bytes=0),)},
        "no input file is empty (found: sales.csv)",
    ),
    ({"reference": None}, "every task carries a reference solution"),
    (
        {"reference": ReferenceSolution(steps=(ReferenceStep(tool="Plot"),), final_answer="")},
        "a reference solution uses the task's own tools (found: Plot)",
    ),
    (
        {"deliverables": TWO_FILES, "checkpoints": node("root", *map(leaf, "abc"))},
        "every deliverable is looked at by some leaf (found: notes.md)",
    ),
    (
        {
            "deliverables": (DeliverableSpec(name="totals.xlsx", type="csv"),),
            "checkpoints": node("root", *map(leaf, "abc")),
        },
        "the name of a deliverable ends with its type (found: totals.xlsx)",
    ),
    (
        {"deliverables": ONE_FILE * 2, "checkpoints": node("root", *map(leaf, "abc"))},
        "the paths of a task's files and deliverables are distinct (found: totals.xlsx)",
    ),
    (
        {"deliverables": ONE_FILE, "checkpoints": node("root", leaf("a"), leaf("b"))},
        "the leaves of a workflow task's tree number 3 to 19",
    ),
    (
        {
            "deliverables": ONE_FILE,
            "checkpoints": node("root", *(leaf(f"l{i}") for i in range(20))),
        },
        "the leaves of a workflow task's tree number 3 to 19",
    ),
    (
        {
            "deliverables": ONE_FILE,
            "checkpoints": node("root", node("n", node("m", *map(leaf, "abc")))),
        },
        "the depth of a workflow task's tree number 2 to 3",
    ),
    (
        {
            "deliverables": ONE_FILE,
            "checkpoints": node(
                "root", node("n", leaf("a", weight=0)), leaf("b"), leaf("c"), leaf("d")
            ),
        },
        "the children of every inner node have some weight (found: n)",
    ),
    (
        {"deliverables": ONE_FILE, "checkpoints": node("root", *map(leaf, "abc"), JUDGED)},
        "the checkable_share of a workflow task is at least 0.7",
    ),
    (
        {
            "deliverables": ONE_FILE,
            "checkpoints": node("root", leaf("a", "guess"), leaf("b"), leaf("c")),
        },
        "every check of a tree exists (found: guess)",
    ),
    (
        {"package": {"family": "intelligent_creation", "subcategory": "hotel"}},
        "a subcategory belongs to its family (found: intelligent_creation/hotel)",
    ),
    (
        {"package": {"turn_mode": "multi", "user": {"instructions": "You want ReadCSV used."}}},
        "the instructions of a simulated user name no tool (found: ReadCSV)",
    ),
]


def test_a_broken_task_is_stopped_and_named(make_task: MakeTask):
    tasks = [make_task(), *(make_task(f"b{i}", **fields) for i, (fields, _) in enumerate(BROKEN))]

    result = gate(*tasks)

    assert not result.success
    for number, (_fields, says) in enumerate(BROKEN):
        expectation = says.partition(" (found")[0]
        (failure,) = (f for f in result.failures if f"b{number}" in f.rows)
        assert failure.expectation.startswith(expectation)


@pytest.mark.parametrize(("fields", "says"), [case for case in BROKEN if "(found" in case[1]][::4])
def test_what_breaks_a_task_is_shown(make_task: MakeTask, fields: dict[str, object], says: str):
    (failure,) = gate(make_task("broken", **fields)).failures

    assert failure.expectation == says


def test_weights_that_add_up_to_0_are_broken_in_a_task_of_ours_alone(make_task: MakeTask):
    tree = node("root", node("a", leaf("a1", weight=0), leaf("a2", weight=0)), leaf("b"))
    shown = {}
    for source in ("internal", "gta-workflow"):
        task = make_task(checkpoints=tree, provenance=Provenance(source=source))
        shown[source] = [
            failure.expectation
            for failure in gate(task, rules=TaskRules()).failures
            if failure.rule == "weightless_nodes"
        ]
    says = "the children of every inner node have some weight (found: a)"
    assert shown == {"internal": [says], "gta-workflow": []}


def test_a_program_that_scores_a_task_looks_at_every_deliverable(make_task: MakeTask):
    program = InputFile(path="main.py", sha256="b" * 64, size_bytes=12)
    leaves = [
        Checkpoint(id=leaf_id, requirement="r", verifier=ScriptCheck(entry="main.py"))
        for leaf_id in "abc"
    ]

    result = gate(
        make_task(
            deliverables=TWO_FILES,
            checkpoints=node("root", *leaves),
            environment=TaskEnvironment(evaluation=(program,)),
        )
    )

    assert result.success, result.failures


def test_two_tasks_of_one_id_are_stopped(make_task: MakeTask):
    result = gate(make_task(), make_task(title="Another"))

    assert [f.expectation for f in result.failures] == ["task ids are unique"]


def test_an_atomic_task_may_have_a_single_leaf_and_no_deliverable(make_task: MakeTask):
    answer = Checkpoint(id="root", requirement="r", verifier=Check(name="answer_number"))

    assert gate(make_task(tier="atomic", checkpoints=answer, deliverables=())).success


def test_without_a_judge_a_task_that_only_a_judge_can_score_is_stopped(make_task: MakeTask):
    task = make_task(tier="atomic", checkpoints=JUDGED, deliverables=ONE_FILE)

    assert gate(task, rules=TaskRules()).success
    (failure,) = gate(task, rules=TaskRules(needs_check=True)).failures
    assert failure.expectation.startswith("without a judge")
    answered = make_task(
        tier="atomic",
        checkpoints=JUDGED,
        deliverables=ONE_FILE,
        answer=SubjectiveAnswer(references=("One cat.", "There is one.", "A single cat.")),
    )
    assert gate(answered, rules=TaskRules(needs_check=True)).success


def test_a_task_of_a_users_bank_that_does_not_pass_is_left_out_by_itself(make_task: MakeTask):
    broken = make_task("broken", tools=("ReadXLS",))

    result = held(make_task(), broken, rules=TaskRules())

    assert result.success
    assert result.quarantined == ("broken",)
    with pytest.raises(GateFailed, match=r"every tool a task allows exists.*ReadXLS.*: broken"):
        require(held(broken, rules=TaskRules()))


def test_a_task_in_its_published_form_may_have_any_tree_and_no_named_file(make_task: MakeTask):
    judged = Checkpoint(id="j", requirement="r", weight=2, verifier=Judge(rubric="?"))
    deep = node("root", node("a", node("b", node("c", node("d", judged)))))
    fields = {"query": "Sum it.", "checkpoints": deep, "deliverables": ()}
    published = Provenance(source="gta-workflow", license="not stated")

    assert held(make_task(**fields, provenance=published), rules=TaskRules()).quarantined == ()
    assert held(make_task(**fields), make_task("sound"), rules=TaskRules()).quarantined
    of_a_seed = make_task(**fields, provenance=published.model_copy(update={"seed_id": "s"}))
    assert held(of_a_seed, make_task("sound"), rules=TaskRules()).quarantined


def test_a_row_that_never_was_a_task_is_stopped(make_task: MakeTask):
    row = task_rows([make_task()], TOOLS)[0]
    foreign = row | {"task_id": "Not A Slug", "tier": "epic", "category": "cooking"}

    result = hold(tasks_suite(STARTER, TOOLS, CHECKS), [foreign], "r1")[0]

    assert {f.column for f in result.failures} == {"task_id", "tier", "category"}


def test_the_starter_bank_promises_more_than_a_users_bank():
    react = AgentSpec.parse("react:openai/gpt-5.2")
    judge = ModelSpec(provider="openai", model="gpt-5.2")

    assert rules_for(RunConfig(agents=(react,))) == TaskRules(
        min_checkable_share=0.7,
        needs_check=True,
        needs_files=True,
        needs_reference=True,
        quarantines=False,
    )
    assert rules_for(RunConfig(bank="./mine", agents=(react,), judge=judge)) == TaskRules()
    reference = AgentSpec.parse("reference")
    assert not rules_for(RunConfig(bank="./mine", agents=(reference,))).needs_reference


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("Plot the revenue and finish the report by Monday.", set()),
        ("Read the CSV please.", set()),
        ("Use the Plot tool for it.", {"Plot"}),
        ("Call `finish` at the end.", {"finish"}),
        ("Let readcsv open it.", {"ReadCSV"}),
        ("Let python_execute do it.", {"python_execute"}),
    ],
)
def test_a_tool_is_named_only_where_its_name_cannot_be_an_ordinary_word(
    query: str, named: set[str]
):
    assert tools_named(query, {"Plot", "finish", "ReadCSV", "python_execute"}) == named


def test_a_task_from_elsewhere_may_not_reach_into_this_machines_network(make_task: MakeTask):
    inside = Resources(network=("169.254.169.254", "example.org", "[::1]:8080"))
    task = make_task(resources=inside)
    (failure,) = gate(task, rules=TaskRules()).failures
    assert "public" in failure.expectation
    assert "169.254.169.254, [::1]:8080" in failure.expectation
    assert gate(task, rules=TaskRules(may_reach_private_addresses=True)).success


def test_a_task_that_one_program_decides_has_no_tree_to_speak_of(make_task: MakeTask):
    program = InputFile(path="evaluation/main.py", sha256="0" * 64, size_bytes=1)
    decided = {
        "query": "Write the totals of the quarter with XlsxFileGenerator, then call finish tool.",
        "files": (InputFile(path="notes.txt", sha256="1" * 64, size_bytes=0),),
        "deliverables": (),
        "environment": TaskEnvironment(evaluation=(program,)),
        "reference": None,
    }
    passed = Checkpoint(id="p", requirement="r", verifier=ScriptCheck(entry="evaluation/main.py"))
    scored = ScriptCheck(entry="evaluation/main.py", verdict="last_line")
    graded = Checkpoint(id="p", requirement="r", verifier=scored)

    assert gate(make_task(**decided, checkpoints=node("root", passed)), rules=TaskRules()).success
    refused = gate(make_task(**decided, checkpoints=node("root", graded)), rules=TaskRules())
    assert {failure.rule for failure in refused.failures} == {
        "tools_named",
        "leaves",
        "deliverables",
        "empty_files",
    }
