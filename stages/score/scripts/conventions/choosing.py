"""Chooses the convention of a program; a new convention is one module and one line here."""

from stages.score.scripts.conventions.base import Convention
from stages.score.scripts.conventions.harbor import HarborConvention
from stages.score.scripts.conventions.toolathlon import ToolathlonConvention
from taskdata.schema.checkpoint import ScriptCheck

_TOOLATHLON = ToolathlonConvention()
_BY_VERDICT: dict[str, Convention] = {"reward_file": HarborConvention()}


def convention_of(script: ScriptCheck) -> Convention:
    """Return the program's convention: Harbor's, or Toolathlon's, which other tasks use, too."""
    return _BY_VERDICT.get(script.verdict, _TOOLATHLON)
