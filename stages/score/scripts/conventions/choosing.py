"""The conventions by what tells them apart; adding one is one module and one line here."""

from stages.score.scripts.conventions.base import Convention
from stages.score.scripts.conventions.harbor import HarborConvention
from stages.score.scripts.conventions.toolathlon import ToolathlonConvention
from taskdata.schema.checkpoint import ScriptCheck

_TOOLATHLON = ToolathlonConvention()
_BY_VERDICT: dict[str, Convention] = {"reward_file": HarborConvention()}


def convention_of(script: ScriptCheck) -> Convention:
    """Return how the program is run: as Toolathlon's are, which ours are too, or as Harbor's."""
    return _BY_VERDICT.get(script.verdict, _TOOLATHLON)
