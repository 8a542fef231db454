"""The links of docs/formats.md lead to files, and it names the parts of each format."""

import re
from pathlib import Path

from stages.score.scripts.conventions.choosing import convention_of
from taskdata.formats.registry import FORMATS
from taskdata.schema.checkpoint import FOREIGN_VERDICTS, ScriptCheck

PAGE = Path(__file__).parents[3] / "docs" / "formats.md"
LINKS = re.compile(r"\]\((\.\./[^)#]+)(?:#[^)]*)?\)")


def test_every_pointer_leads_somewhere():
    pointers = LINKS.findall(PAGE.read_text())
    assert len(pointers) > 15
    assert [path for path in pointers if not (PAGE.parent / path).exists()] == []


def test_every_convention_is_named_with_the_reader_of_its_format():
    text = PAGE.read_text()
    conventions = {
        type(convention_of(ScriptCheck(entry="main.py", verdict=verdict)))
        for verdict in FOREIGN_VERDICTS
    }
    for convention in conventions:
        name = convention.__module__.rpartition(".")[2]
        assert f"](../{convention.__module__.replace('.', '/')}.py)" in text
        assert f"](../{FORMATS[name].read.__module__.replace('.', '/')}.py)" in text
