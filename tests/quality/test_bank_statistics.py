from collections.abc import Callable

import pytest

from quality.bank_statistics import bank_statistics, difficulty, modalities, underrepresented
from taskdata.schema.checkpoint import Check, Checkpoint, Judge
from taskdata.schema.statistics import BankStatistics, Difficulty, Modality, Spread
from taskdata.schema.task import (
    Capability,
    Category,
    DeliverableSpec,
    InputFile,
    Provenance,
    ReferenceSolution,
    ReferenceStep,
    Task,
)

MakeTask = Callable[..., Task]

ANSWER = Checkpoint(id="root", requirement="It is 42.", verifier=Check(name="answer_number"))
JUDGED = Checkpoint(id="root", requirement="It is plain.", verifier=Judge(rubric="Is it?"))


@pytest.fixture
def bank(make_task: MakeTask) -> list[Task]:
    """A workflow of four leaves, one of them judged, and two atomic tasks."""
    atomic = {"tier": "atomic", "deliverables": (), "files": (), "tools": ("Plot", "finish")}
    retrieval = {"category": "retrieval_qa", "capabilities": ("perception", "logic")}
    return [
        make_task("workflow"),
        make_task("answer", checkpoints=ANSWER, **atomic, **retrieval),
        make_task(
            "judged", checkpoints=JUDGED, **atomic, provenance=Provenance(source="stackexchange")
        ),
    ]


def test_every_known_category_and_capability_is_counted_absent_ones_as_0(bank: list[Task]):
    statistics = bank_statistics(bank)

    assert list(statistics.categories) == [c.value for c in Category]
    assert statistics.categories["data_analysis"] == 2
    assert statistics.categories["retrieval_qa"] == 1
    assert statistics.categories["creative_design"] == 0
    assert statistics.capabilities == {
        "perception": 1,
        "operation": 2,
        "logic": 3,
        "creativity": 0,
    }
    assert list(statistics.capabilities) == [c.value for c in Capability]
    assert statistics.tiers == {"atomic": 2, "workflow": 1, "planning": 0}


def test_tools_and_sources_are_counted_by_task_the_most_used_first(bank: list[Task]):
    twice = bank[0].model_copy(update={"tools": ("Plot", "Plot")})

    statistics = bank_statistics([*bank, twice])

    assert list(statistics.tools.items()) == [
        ("Plot", 3),
        ("finish", 3),
        ("ReadCSV", 1),
        ("XlsxFileGenerator", 1),
    ]
    assert statistics.sources == {"internal": 3, "stackexchange": 1}


def test_leaves_and_what_code_can_verify_are_summed_up(bank: list[Task]):
    statistics = bank_statistics(bank)

    assert statistics.leaves == Spread(total=6, least=1, median=1, most=4)
    assert statistics.checkable_share == pytest.approx((0.75 + 1 + 0) / 3)
    assert statistics.difficulties == {"short": 3, "medium": 0, "long": 0}


def test_minutes_and_steps_are_spread_over_the_tasks_that_state_them(bank: list[Task]):
    steps = (ReferenceStep(tool="Plot"), ReferenceStep(tool="finish"))
    played = ReferenceSolution(steps=steps, final_answer="42")
    hard = bank[1].model_copy(update={"human_minutes": 90, "reference": played})
    easy = bank[2].model_copy(update={"human_minutes": 10, "reference": None})

    statistics = bank_statistics([hard, easy])

    assert statistics.minutes == Spread(total=100, least=10, median=50, most=90)
    assert statistics.steps == Spread(total=2, least=2, median=2, most=2)


def test_a_bank_without_tasks_has_zeros_and_no_means():
    statistics = bank_statistics([])

    assert statistics.tasks == 0
    assert set(statistics.categories.values()) == {0}
    assert statistics.checkable_share is None
    assert (statistics.leaves, statistics.minutes, statistics.steps) == (None, None, None)


def test_statistics_survive_json(bank: list[Task]):
    statistics = bank_statistics(bank)

    assert BankStatistics.model_validate_json(statistics.model_dump_json()) == statistics


@pytest.mark.parametrize(
    ("leaves", "expected"),
    [
        (1, Difficulty.SHORT),
        (7, Difficulty.SHORT),
        (8, Difficulty.MEDIUM),
        (12, Difficulty.MEDIUM),
        (13, Difficulty.LONG),
        (40, Difficulty.LONG),
    ],
)
def test_difficulty_goes_by_leaves(leaves: int, expected: Difficulty):
    assert difficulty(leaves) is expected


def test_a_task_has_the_modalities_of_what_it_brings_and_asks_for(make_task: MakeTask):
    files = ("sales.csv", "scan.PNG", "take.wav", "notes", "mail.txt")
    task = make_task(
        files=tuple(InputFile(path=f, sha256="a" * 64, size_bytes=1) for f in files),
        deliverables=(
            DeliverableSpec(name="totals.xlsx", type="xlsx"),
            DeliverableSpec(name="memo.docx", type="docx"),
            DeliverableSpec(name="talk.pptx", type="pptx"),
            DeliverableSpec(name="page.html", type="html"),
        ),
    )

    assert modalities(task) == {
        Modality.SPREADSHEET,
        Modality.IMAGE,
        Modality.AUDIO,
        Modality.OTHER,
        Modality.TEXT,
        Modality.DOCUMENT,
        Modality.SLIDES,
        Modality.WEB,
    }
    assert bank_statistics([task, task]).modalities["spreadsheet"] == 2


def test_tools_below_the_floor_come_rarest_first(bank: list[Task]):
    statistics = bank_statistics(bank)
    tools = ("finish", "ReadPDF", "ReadCSV", "Plot", "Calculator")

    assert underrepresented(statistics, tools, 0.5) == ("Calculator", "ReadPDF", "ReadCSV")
    assert underrepresented(statistics, tools, 1 / 3) == ("Calculator", "ReadPDF")
    assert underrepresented(statistics, tools, 0) == ()


def test_in_an_empty_bank_every_tool_is_underrepresented():
    assert underrepresented(bank_statistics([]), ("b", "a"), 0.1) == ("a", "b")
