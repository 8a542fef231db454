"""A tool call seen from the host: validate, send to the worker in the sandbox, parse the result.

The result may have been forged by code that an agent wrote: it is parsed strictly and cut.
"""

import json
import logging
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from environments.ports import Completed, Sandbox
from environments.sandbox.endings import why_stopped
from environments.tool_runtime.warm.libraries import LIBRARIES
from environments.tool_runtime.warm.python import WarmPython
from environments.tool_runtime.worker import READY
from environments.toolkit.definition import (
    MAX_RESULT_CHARS,
    ToolDefinition,
    cut_text,
    explain_bad_arguments,
)
from taskdata.errors import SandboxFailed
from taskdata.schema.tool import ToolErrorKind, ToolResult, ToolSpec

_logger = logging.getLogger(__name__)

_WORKER = "environments.tool_runtime.worker"
_MAX_PATH_CHARS = 240


@dataclass(frozen=True)
class SandboxedTool:
    """A tool whose function runs inside the sandbox; implements the `Tool` protocol."""

    definition: ToolDefinition[Any]
    spec: ToolSpec
    python: WarmPython | None = None
    """The trial's warm Python; without it, every call starts a new Python."""

    def at(self, python: WarmPython) -> "SandboxedTool":
        """Return the tool for the calls of one trial."""
        return replace(self, python=python)

    async def run(self, arguments: dict[str, Any], sandbox: Sandbox) -> ToolResult:
        """Return the result of one call; arguments that do not fit come back as an error.

        Raises:
            SandboxFailed: the sandbox could not start, or its Python cannot run the tool.
        """
        tool = self.definition
        try:
            tool.arguments.model_validate(arguments)
        except ValidationError as exc:
            text = explain_bad_arguments(tool.name, tool.arguments, arguments, exc)
            return ToolResult(text=text, error=ToolErrorKind.BAD_ARGUMENTS)
        request = json.dumps({"tool": tool.name, "arguments": arguments})
        python = self.python or WarmPython(sandbox)
        load = LIBRARIES.get(tool.name) if self.python else None
        completed = await python.run(_WORKER, request, load)
        return _read_result(tool, completed)


def _read_result(tool: ToolDefinition[Any], completed: Completed) -> ToolResult:
    stopped = why_stopped(completed)
    if stopped:
        text = f"{tool.name} was stopped after {completed.seconds:.0f} s: {stopped}. {tool.paging}"
        return ToolResult(text=text, error=ToolErrorKind.LIMIT, seconds=completed.seconds)
    complaint = completed.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2][:300]
    ready, _, output = completed.stdout.partition(b"\n")
    if ready != READY:
        raise SandboxFailed(
            f"{tool.name}: the worker in the sandbox did not start (code {completed.exit_code}): "
            f"{complaint or 'no message'}"
        )
    try:
        result = ToolResult.model_validate_json(output)
    except ValidationError:
        _logger.warning("%s gave no readable result: %s", tool.name, complaint)
        text = f"{tool.name} ended without a readable result."
        return ToolResult(text=text, error=ToolErrorKind.REFUSED, seconds=completed.seconds)
    if result.error and complaint:
        _logger.info("%s: %s", tool.name, complaint)
    return ToolResult(
        text=cut_text(result.text, tool.paging, MAX_RESULT_CHARS),
        files=tuple(path for path in result.files if _is_plain_path(path)),
        error=result.error,
        seconds=completed.seconds,
    )


def _is_plain_path(path: str) -> bool:
    return path.startswith("output/") and len(path) <= _MAX_PATH_CHARS and path.isprintable()
