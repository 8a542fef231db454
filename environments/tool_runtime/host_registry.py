"""Which module holds which host tool; a new tool needs an entry in its `TOOLS` and one here."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Tool names are needed where no tool runs; importing the definitions takes a second.
if TYPE_CHECKING:
    from environments.toolkit.host_tool import HostDefinition

_MODELS = "environments.tools.models"
_SESSION = "environments.tools.session"

HOST_MODULES: Mapping[str, str] = {
    "ImageDescription": f"{_MODELS}.describing",
    "RegionAttributeDescription": f"{_MODELS}.describing",
    "VideoDescription": f"{_MODELS}.describing",
    "MathOCR": f"{_MODELS}.formulas",
    "CountGivenObject": f"{_MODELS}.finding",
    "TextToBbox": f"{_MODELS}.finding",
    "TextToImage": f"{_MODELS}.making",
    "TextToVideoTool": f"{_MODELS}.making",
    "GoogleSearch": "environments.tools.session.searching",
    "web_search": "environments.tools.session.searching",
    "view_file": "environments.tools.looking.view_file",
    "sleep": f"{_SESSION}.waiting",
    "history": f"{_SESSION}.looking_back",
    "handle_overlong_tool_outputs": f"{_SESSION}.overlong",
    "manage_context": f"{_SESSION}.managing_context",
}
"""Name of each host tool and the module whose `TOOLS` holds it."""


def host_definition(name: str) -> "HostDefinition[Any]":
    """Return the definition of the host tool `name`; raises KeyError for other names."""
    tools: tuple[HostDefinition[Any], ...] = import_module(HOST_MODULES[name]).TOOLS
    return {tool.name: tool for tool in tools}[name]
