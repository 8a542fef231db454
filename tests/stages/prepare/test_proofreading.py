"""A bank's author learns of every misspelt word at once, where it is and what was meant."""

from pathlib import Path

import pytest

from stages.prepare.proofreading import proofread
from taskdata.banks.loader import load_bank
from taskdata.errors import Misuse

TASK = """\
tier: atomic
category: retrieval_qa
capabilities: [logic]
title: Sums
query: How many are two and two? Write it into sum.json.
tools: [Calculator, finish]
deliverables:
  - {name: sum.json, type: json}
checkpoints:
  id: root
  requirement: It is right.
  children:
    - id: answer
      requirement: The answer is four.
      verifier:
        kind: check
        name: answer_contains
        args: {all: [["4", four]]}
    - id: file
      requirement: The file says so, too.
      verifier:
        kind: check
        name: json_values
        deliverable: sum.json
        args: {values: {sum: 4}}
    - id: tool
      weight: 2
      requirement: A tool was used.
      verifier: {kind: tool_result, tools: [Calculator]}
"""
SOLUTION = """\
steps:
  - {tool: Calculator, arguments: {expression: 2 + 2}}
final_answer: It is 4.
"""


@pytest.fixture
def bank(tmp_path: Path):
    """Return a function that makes a bank of one task, words in it replaced, and proofreads it."""

    def make(*changes: tuple[str, str], solution: str = SOLUTION):
        text = TASK
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        folder = tmp_path / "bank" / "sums"
        (folder / "reference").mkdir(parents=True)
        (folder / "task.yaml").write_text(text)
        (folder / "reference/solution.yaml").write_text(solution)
        return proofread(str(tmp_path / "bank"))

    return make


def test_a_sound_bank_has_no_fault(bank):
    assert bank() == (1, ())


@pytest.mark.parametrize(
    ("change", "line", "place", "near"),
    [
        (("all:", "al:"), 18, "checkpoints.children[0].verifier.args.al", "all"),
        (
            ("answer_contains", "anser_contain"),
            17,
            "checkpoints.children[0].verifier.name",
            "answer_contains",
        ),
        (
            ("deliverable: sum", "deliverable: summ"),
            24,
            "checkpoints.children[1].verifier.deliverable",
            "sum.json",
        ),
        (("[Calculator, f", "[calculater, f"), 6, "tools[0]", "Calculator"),
        (("[Calculator]", "[Calc]"), 29, "checkpoints.children[2].verifier.tools[0]", "Calculator"),
        (("title", "titel"), 4, "titel", "title"),
        (("category: retrieval_qa", "category: retrival"), 2, "category", "retrieval_qa"),
        (("type: json", "type: jsn"), 8, "deliverables[0].type", "json"),
        (("kind: check", "kind: chek"), 16, "checkpoints.children[0].verifier.kind", "check"),
        (("weight", "wieght"), 27, "checkpoints.children[2].wieght", "weight"),
    ],
)  # fmt: skip
def test_a_misspelt_word_is_named_with_its_place_and_what_was_meant(
    bank, change, line, place, near
):
    _, faults = bank(change)
    fault = next(fault for fault in faults if near in fault.near)
    assert (fault.task, fault.file, fault.line, fault.place) == ("sums", "task.yaml", line, place)


def test_every_fault_is_named_at_once(bank):
    _, faults = bank(
        ("all:", "al:"),
        ("values:", "value:"),
        ("[Calculator, f", "[Calculatr, f"),
        ("title: Sums", "titel: Sums"),
        solution=SOLUTION.replace("tool: Calculator", "tool: Calulator"),
    )
    assert sorted((fault.file, fault.near[:1]) for fault in faults if fault.near) == [
        ("reference/solution.yaml", ("Calculator",)),
        ("task.yaml", ("Calculator",)),
        ("task.yaml", ("all",)),
        ("task.yaml", ("title",)),
        ("task.yaml", ("values",)),
    ]


def test_a_check_that_cannot_read_the_file_says_what_it_reads(bank):
    _, (fault,) = bank(("name: json_values", "name: csv_rows"), ("values: {sum: 4}", "min: 1"))
    assert fault.message == "csv_rows reads csv, which 'sum.json' is not"


def test_a_value_that_does_not_fit_says_why(bank):
    _, (fault,) = bank(('[["4", four]]', "[[]]"))
    assert fault.place == "checkpoints.children[0].verifier.args.all[0]"
    assert "at least 1 item" in fault.message


@pytest.mark.parametrize(
    ("text", "message"),
    [("- a\n- b\n", "expected a mapping"), ("a: [\n", "not YAML"), ("a: &x 1\nb: *x\n", "anchor")],
)
def test_what_is_no_task_is_one_fault(tmp_path, text, message):
    (tmp_path / "bank" / "odd").mkdir(parents=True)
    (tmp_path / "bank" / "odd" / "task.yaml").write_text(text)
    _, (fault,) = proofread(str(tmp_path / "bank"))
    assert message in fault.message


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "secret").write_text("password: hunter2")
    (tmp_path / "bank" / "sly").mkdir(parents=True)
    (tmp_path / "bank" / "sly" / "task.yaml").symlink_to(tmp_path / "secret")
    _, (fault,) = proofread(str(tmp_path / "bank"))
    assert "hunter2" not in fault.message
    assert "link" in fault.message


def test_one_task_folder_and_a_bundled_bank_can_be_named(bank, tmp_path):
    bank()
    assert proofread(str(tmp_path / "bank" / "sums")) == (1, ())
    assert proofread("starter") == (len(load_bank("starter").tasks), ())
    with pytest.raises(Misuse, match="unknown"):
        proofread(str(tmp_path / "nowhere"))


def test_the_tools_of_a_tasks_servers_are_not_known_before_they_run(bank):
    solution = SOLUTION.replace("Calculator", "execute_sql")
    servers = ("deliverables:", "environment: {servers: [dbhub]}\ndeliverables:")

    faults = bank(servers, ("tools: [Calculator]}", "tools: [execute_sql]}"), solution=solution)

    assert faults == (1, ())
