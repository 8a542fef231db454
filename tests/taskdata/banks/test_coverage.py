"""Which tools and file kinds of GTA-2 the bundled banks exercise."""

from pathlib import Path

import pytest

from taskdata.banks.loader import bundled_banks, load_bank
from taskdata.formats.gta.tools import CATEGORIES
from taskdata.schema.task import Task

PUBLISHED = Path(__file__).parents[4] / "shared/data/gta/benchmark_toollist_v2.txt"
NOT_LISTED = {"TextToBbox"}
"""Tools of GTA-Atomic that the list of GTA-Workflow no longer has."""
NEED_A_HOSTED_MODEL = {
    *("ImageDescription", "RegionAttributeDescription", "CountGivenObject", "MathOCR"),
    *("VideoDescription", "TextToImage", "TextToVideoTool"),
}
"""No bundled reference can use these offline."""
LEAST_TOOLS = 30

IMAGE = {"png", "jpg", "jpeg", "gif", "webp", "svg"}
AUDIO = {"wav", "mp3", "flac", "ogg"}
VIDEO = {"mp4", "webm"}
TEXT = {"txt", "md"}
CODE = {"py", "js", "css", "sql", "sh", "tex"}
INPUT_KINDS = {
    **{"image": IMAGE, "audio": AUDIO, "video": VIDEO, "text": TEXT},
    **{kind: {kind} for kind in ("docx", "xlsx", "pptx", "pdf", "csv")},
}
"""GTA-2, section 3.3.2, with CSV and text, which its tools read too."""
DELIVERABLE_KINDS = {
    **{"image": IMAGE, "audio": AUDIO, "video": VIDEO, "text": TEXT, "code": CODE},
    **{kind: {kind} for kind in ("pdf", "html", "docx", "pptx", "csv", "xlsx", "json")},
}
"""GTA-2, figure 5, with the code of section 3.4."""


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return [task for name in bundled_banks() for task in load_bank(name).tasks]


@pytest.fixture(scope="module")
def tools() -> set[str]:
    return set(CATEGORIES) - NOT_LISTED


def test_the_catalogue_is_that_of_the_benchmark(tools):
    assert len(tools) == 37
    if PUBLISHED.exists():
        assert tools == set(PUBLISHED.read_text().split())


def test_references_use_every_tool_that_needs_no_hosted_model(tasks, tools):
    used = {step.tool for task in tasks if task.reference for step in task.reference.steps}

    assert len(used & tools) >= LEAST_TOOLS
    assert tools - used <= NEED_A_HOSTED_MODEL


def test_all_kinds_of_files_are_read_and_made(tasks):
    given = {Path(file.path).suffix.removeprefix(".") for task in tasks for file in task.files}
    asked = {spec.type.value for task in tasks for spec in task.deliverables}

    assert {kind for kind, endings in INPUT_KINDS.items() if not endings & given} == set()
    assert {kind for kind, endings in DELIVERABLE_KINDS.items() if not endings & asked} == set()
