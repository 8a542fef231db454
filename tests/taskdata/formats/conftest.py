"""Reading an import without a store."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from taskdata.formats.registry import reader
from taskdata.formats.rows import ImportedTask, Source


@dataclass
class Read:
    """Everything a reader yielded."""

    source: Source
    items: list

    @property
    def tasks(self):
        return [item.task for item in self.items if isinstance(item, ImportedTask)]

    @property
    def refused(self):
        return [item for item in self.items if not isinstance(item, ImportedTask)]


@pytest.fixture
def read():
    """Read a path of a format; returns tasks, refused rows and the source with its counts."""

    def run(format: str, path: Path, **options: object) -> Read:
        source = Source(format, path, **options)
        return Read(source, list(reader(format)(source)))

    return run


@pytest.fixture
def workflow_folder(tmp_path):
    """Write GTA-Workflow items, by key, into a folder; returns the folder."""

    def write(*items: dict, name: str = "end.json", text: str | None = None) -> Path:
        folder = tmp_path / "workflow"
        folder.mkdir(exist_ok=True)
        document = {str(key): item for key, item in enumerate(items)}
        (folder / name).write_text(text or json.dumps(document))
        (folder / "toolmeta.json").write_text(json.dumps([{"name": "ReadCSV"}, {"name": "OCR"}]))
        return folder

    return write


@pytest.fixture
def item():
    """A small GTA-Workflow item; keyword arguments replace its fields."""

    def make(**changes: object) -> dict:
        fields = {
            "dialogs": [
                {"role": "user", "content": "Write the minutes to `minutes.docx`, please."}
            ],
            "sub_tasks": [
                {"id": "1", "requirements": "The minutes name everyone present.", "weight": 2},
                {
                    "id": "2",
                    "requirements": "Decisions are complete.",
                    "sub_tasks": [
                        {"id": "2.1", "requirements": "Each decision has a date.", "weight": 1},
                        {"id": "2.2", "requirements": "Each decision has an owner."},
                    ],
                },
            ],
        }
        return fields | changes

    return make
