"""Deliverables that may have any name: how they are asked for, and when one is missing."""

import asyncio
import subprocess
from pathlib import Path
from types import SimpleNamespace

from environments.ports import Completed
from stages.execute.dialogue.corrections import missing_files
from stages.execute.dialogue.prompts import opening
from taskdata.schema.task import DeliverableSpec, DeliverableType

ANY_DECK = DeliverableSpec(name="*.pptx", type=DeliverableType.PPTX, description="Ten slides.")
NOTES = DeliverableSpec(name="notes.md", type=DeliverableType.MD)


class InFolder:
    """Runs programs in a folder, as a sandbox runs them in `/workspace`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def run(self, argv, **_: object) -> Completed:
        done = subprocess.run(argv, cwd=self.folder, capture_output=True, check=False)
        return Completed(done.returncode, done.stdout, done.stderr, 0.0)


def test_a_file_of_the_type_in_any_folder_is_enough(new_answer_task, tmp_path):
    brief = new_answer_task(deliverables=(ANY_DECK, NOTES)).brief()
    assignment = SimpleNamespace(brief=brief, sandbox=InFolder(tmp_path))
    (tmp_path / "output/deep").mkdir(parents=True)
    assert asyncio.run(missing_files(assignment)) == ("*.pptx", "notes.md")
    (tmp_path / "output/deep/Final.PPTX").touch()
    assert asyncio.run(missing_files(assignment)) == ("notes.md",)


def test_an_agent_is_told_that_the_name_is_its_choice(new_answer_task):
    brief = new_answer_task(deliverables=(ANY_DECK, NOTES)).brief()
    text = opening("react_v3", brief, ())[-1].text
    assert "output/<a name of your choice>.pptx (pptx): Ten slides." in text
    assert "output/notes.md (md)" in text
