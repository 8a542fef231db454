"""Whether a tool is ready to run here, and what it lacks otherwise."""

from collections.abc import Collection, Iterable
from importlib.util import find_spec

from environments.tool_runtime.host_registry import HOST_MODULES, host_definition
from environments.tool_runtime.registry import MODULES, definition
from environments.toolkit.services import READY, Service, service_state
from taskdata.errors import ToolUnavailable
from taskdata.installing import extra_command
from taskdata.schema.run import SandboxName
from taskdata.schema.tool_backends import ToolBackends

__all__ = ["READY", "require_ready", "tool_state"]

_NOTHING = ToolBackends()


def tool_state(
    name: str,
    backends: ToolBackends = _NOTHING,
    sandbox: SandboxName = "bubblewrap",
    brought: Collection[Service] = (),
) -> str:
    """Return `ready`, or on one line what the tool lacks and how to get it.

    Args:
        name: A tool of the catalogue.
        backends: The configured services.
        sandbox: The provider that runs it: Docker's image has every library, bubblewrap shows those
            of this installation.
        brought: Services that the task brings itself.
    """
    if name in HOST_MODULES:
        outside = host_definition(name)
        if outside.needs is not None:
            state = service_state(outside.needs, backends, brought)
            if state != READY:
                return state
        return _libraries(outside.modules, outside.extra, outside.backend, sandbox)
    if name in MODULES:
        inside = definition(name)
        return _libraries(inside.modules, inside.extra, inside.backend, sandbox)
    return READY


def require_ready(
    names: Iterable[str],
    backends: ToolBackends,
    sandbox: SandboxName,
    brought: Collection[Service] = (),
) -> None:
    """Check that every named tool can run; `brought` are services that the task brings itself.

    Raises:
        ToolUnavailable: a tool cannot run; the message says which one and why.
    """
    for name in names:
        state = tool_state(name, backends, sandbox, brought)
        if state != READY:
            raise ToolUnavailable(f"tool {name}: {state}")


def _libraries(
    modules: tuple[str, ...], extra: str | None, backend: str, sandbox: SandboxName
) -> str:
    if sandbox == "docker":
        return READY
    missing = [module for module in modules if find_spec(module) is None]
    if not missing:
        return READY
    way = f"run {extra_command(extra)}" if extra else f"install {backend}"
    return f"needs {', '.join(missing)}: {way}"
