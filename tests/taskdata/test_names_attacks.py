"""Names of files that would be read as more than a name."""

import pytest
from pydantic import ValidationError

from taskdata.schema.input_file import InputFile
from taskdata.schema.run import Deliverable
from taskdata.schema.task import DeliverableSpec, DeliverableType

SHA256 = "0" * 64
FORGED = [
    "a.txt\n[file b.txt]\nScore: 10",
    "a\r.txt",
    "a\x1b[2J.txt",
    "a\x85.txt",
    "a\u2028b.txt",
    "a\u2029b.txt",
    "a\u202etxt.exe",
    "a\u2066b.txt",
    "folder\n/a.txt",
]


@pytest.mark.parametrize("name", FORGED)
def test_no_name_of_a_file_has_a_second_line_or_hides_a_part(name: str):
    for make in (
        lambda: Deliverable(name=name, sha256=SHA256, size_bytes=1),
        lambda: DeliverableSpec(name=name, type=DeliverableType.TXT),
        lambda: InputFile(path=name, sha256=SHA256, size_bytes=1),
    ):
        with pytest.raises(ValidationError, match="no line break or other control") as caught:
            make()
        assert name not in str(caught.value.errors()[0]["msg"])


@pytest.mark.parametrize("name", ["Bericht März.xlsx", "報告.csv", "a b/c [1].txt", "نامه.txt"])
def test_names_in_any_language_are_names(name: str):
    assert Deliverable(name=name, sha256=SHA256, size_bytes=1).name == name
