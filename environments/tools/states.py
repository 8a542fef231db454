"""Whether a tool can run here, and what would make it."""

from importlib.util import find_spec

from environments.tools.registry import MODULES, definition

READY = "ready"


def tool_state(name: str) -> str:
    """Return `ready`, or in one line what the tool lacks and how to get it."""
    if name not in MODULES:
        return READY
    tool = definition(name)
    missing = [module for module in tool.modules if find_spec(module) is None]
    if not missing:
        return READY
    way = f"install nightshift-evals[{tool.extra}]" if tool.extra else f"install {tool.backend}"
    return f"needs {', '.join(missing)}: {way}"
